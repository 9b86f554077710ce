#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "tests/unit/arrays.h"
#include "train/store/offload.h"
#include "train/store/store.h"

/* The models of these tests have four blocks, each with one matrix of 64 x 256 floats (64 KiB). */

enum { BLOCKS = 4, FLOATS = 64 * 256, BYTES = 4 * FLOATS };

static char folder[] = "/tmp/test_store_XXXXXX";

static void make_folder(void)
{
    cr_assert(mkdtemp(folder));
}

static void remove_folder(void)
{
    cr_assert_eq(rmdir(folder), 0, "the folder is not empty"); /* the file had no name */
}

static int give_block(void *ctx, int block, struct split_part part, struct ops_array *parameters)
{
    cr_assert(!part.first && part.count == FLOATS);
    *parameters = ((const struct ops_array *)ctx)[block];
    return 0;
}

/* Sets p to the program of a step for two layers, and gives it to the configuration c, with rows of
 * `floats` floats. */
static void use_program(struct store_config *c, struct program *p, int64_t micro, int64_t group,
                        enum recompute recompute, int64_t floats)
{
    program_step(p, &(struct step_config){ .layers = BLOCKS - 2,
                                           .A = micro,
                                           .G = group,
                                           .recompute = recompute,
                                           .tied = 1,
                                           .moments = 2 });
    c->program = p;
    for (int kind = STORE_X; kind < STORE_KINDS; kind++)
        c->row[kind] = floats;
}

static void make_table(struct tensor_table *t)
{
    *t = (struct tensor_table){ 0 };
    for (int b = 0; b < BLOCKS; b++)
        tensor_add(t, b, (char[]){ 'a' + (char)b, 0 }, 64, 256, INIT_NORMAL, 1);
}

TestSuite(store, .init = make_folder, .fini = remove_folder);

Test(store, keeps_in_memory_what_is_used_most)
{
    struct tensor_table t;
    struct store_plan p;
    struct program program;
    struct store_config c = { .dir = folder };
    make_table(&t);
    use_program(&c, &program, 1, 1, RECOMPUTE_NONE, 0);
    cr_assert_eq(store_plan(&p, &t, &c), 0); /* as little as it can */
    cr_assert_eq(p.memory_bytes, 0);
    cr_assert_eq(p.file_bytes, 16 * BYTES);
    cr_assert_eq(p.window_bytes, 2 * 4 * BYTES);
    c.memory_bytes = 12 * BYTES; /* room for the window of three arrays a block */
    cr_assert_eq(store_plan(&p, &t, &c), 0);
    cr_assert_leq(p.memory_bytes + p.window_bytes, c.memory_bytes);
    cr_assert(p.memory_bytes >= 6 * BYTES && p.file_bytes > 0);
    c.memory_bytes = 16 * BYTES;
    cr_assert_eq(store_plan(&p, &t, &c), 0);
    cr_assert_eq(p.memory_bytes, 16 * BYTES);
    cr_assert_eq(p.window_bytes + p.file_bytes, 0);
    c.memory_bytes = BYTES;
    cr_assert_eq(store_plan(&p, &t, &c), -1);
    cr_assert(strstr(err_get(), "memory is too small"), "%s", err_get());
    c.dir = NULL;
    cr_assert_eq(store_plan(&p, &t, &c), 0);
    cr_assert_eq(p.memory_bytes, 16 * BYTES);
    tensor_release(&t);
    program_release(&program);
}

Test(store, a_gpu_has_the_memory_of_its_host_before_the_file)
{
    struct tensor_table t;
    struct program program;
    struct store_plan p;
    struct store_config c = { .offload = 1, .memory_bytes = 12 * BYTES };
    make_table(&t);
    use_program(&c, &program, 1, 1, RECOMPUTE_NONE, 0);
    cr_assert_eq(store_plan(&p, &t, &c), 0, "%s", err_get());
    const uint64_t other = 16 * BYTES - p.memory_bytes;
    cr_assert(other > (LAYOUT_STAGES + 1) * BYTES && p.host_bytes == other && !p.file_bytes);
    c.host_bytes = other - 1;
    cr_assert_eq(store_plan(&p, &t, &c), -1);
    cr_assert(strstr(err_get(), "give --memmap-dir"), "%s", err_get());
    c.dir = folder; /* one array less, and the stages */
    cr_assert_eq(store_plan(&p, &t, &c), 0, "%s", err_get());
    cr_assert(p.host_bytes <= c.host_bytes && p.host_bytes > LAYOUT_STAGES * BYTES);
    cr_assert_eq(p.host_bytes - LAYOUT_STAGES * BYTES + p.file_bytes, other);
    cr_assert(p.read_bytes >= p.file_bytes && p.written_bytes > 0);
    c.host_bytes = other; /* all of them: no stages */
    cr_assert_eq(store_plan(&p, &t, &c), 0, "%s", err_get());
    cr_assert(p.host_bytes == other && !p.file_bytes);
    c.host_bytes = 0; /* the stages alone */
    cr_assert_eq(store_plan(&p, &t, &c), 0, "%s", err_get());
    cr_assert(p.host_bytes == LAYOUT_STAGES * BYTES && p.file_bytes == other);
    c.host_bytes = LAYOUT_STAGES * BYTES - 1;
    cr_assert_eq(store_plan(&p, &t, &c), -1);
    cr_assert(strstr(err_get(), "between the file and the GPU"), "%s", err_get());
    tensor_release(&t);
    program_release(&program);
}

static void expect(struct store *s, int kind, int number, enum use_mode mode)
{
    store_expect(s, &(struct use){ .kind = (unsigned char)kind,
                                   .number = number,
                                   .mode = (unsigned char)mode });
}

/* Drops the gradients of block b and makes them again. The dropped values may be lost or not. The
 * block may be made again while it is still being written to the file. y: the expected values,
 * which become 0. */
static void make_again(struct store *s, int b, float *y)
{
    const float *before = floats(store_fetch(s, STORE_GRADIENTS, b, MODE_READ, 0));
    float first = before[0];
    store_end(s, &(struct use){ .kind = STORE_GRADIENTS, .number = b, .then = THEN_DROPPED });
    if (b % 2)
        expect(s, STORE_GRADIENTS, b, MODE_MAKE);
    float *x = floats(store_fetch(s, STORE_GRADIENTS, b, MODE_MAKE, 0));
    cr_assert(x[0] == 0 || x[0] == first);
    memset(x, 0, BYTES);
    memset(y, 0, BYTES);
    store_release(s, STORE_GRADIENTS, b, 0);
}

/* Changes each array in twenty rounds, and announces the next one before. The bytes must be those
 * of a store in plain memory. memory: the limit of memory in bytes. host: 0: there is a file alone;
 * else the limit of the memory of a GPU's host. */
static void check_contents(uint64_t memory, uint64_t host)
{
    struct tensor_table t;
    struct store s, plain;
    struct ops *o = ops_open("cpu", 2);
    struct store_config c = {
        .dir = folder, .memory_bytes = memory, .offload = host > 0, .host_bytes = host
    };
    struct program program;
    make_table(&t);
    use_program(&c, &program, 1, 1, RECOMPUTE_NONE, 0);
    cr_assert_eq(store_open(&plain, o, &t, &(struct store_config){ 0 }, NULL, 7), 0);
    cr_assert_eq(store_open(&s, o, &t, &c, NULL, 7), 0, "%s", err_get());
    for (int round = 0; round < 20; round++)
        for (int b = 0; b < BLOCKS; b++)
            for (int kind = 0; kind < STORE_BLOCKS; kind++) {
                float *x = floats(store_fetch(&s, kind, b, MODE_WRITE, 0)),
                      *y = floats(plain.spots[kind][b].array);
                if (b + 1 < BLOCKS)
                    expect(&s, kind, b + 1, MODE_WRITE);
                for (int i = 0; i < FLOATS; i++) {
                    x[i] = x[i] * 0.5f + (float)(round + kind);
                    y[i] = y[i] * 0.5f + (float)(round + kind);
                }
                store_release(&s, kind, b, 0);
                if (kind == STORE_GRADIENTS && round % 3 == 0)
                    make_again(&s, b, y);
            }
    for (int kind = 0; kind < STORE_BLOCKS; kind++)
        for (int b = 0; b < BLOCKS; b++) {
            const float *x = floats(store_fetch(&s, kind, b, MODE_READ, 0));
            cr_assert_arr_eq(x, floats(plain.spots[kind][b].array), BYTES, "array %d of block %d",
                             kind, b);
            store_release(&s, kind, b, 0);
        }
    cr_assert_eq(store_check(&s), 0);
    if (!memory && !host) {
        struct mapped_traffic moved = mapped_traffic(s.mapped);
        cr_assert(moved.read_bytes > 15 * 16 * BYTES);
        cr_assert(moved.written_bytes > 15 * 16 * BYTES);
    }
    store_close(&s);
    store_close(&plain);
    tensor_release(&t);
    program_release(&program);
    ops_free(o);
}

Test(store, arrays_in_a_file_hold_what_was_written)
{
    check_contents(0, 0);
    check_contents(12 * BYTES, 0);
    check_contents(16 * BYTES, 0);
}

Test(store, arrays_behind_a_gpu_hold_what_was_written)
{
    check_contents(0, LAYOUT_STAGES * BYTES);
    check_contents(0, 8 * BYTES);
    check_contents(12 * BYTES, 16 * BYTES);
}

static struct ops_array float_at(struct ops_array a, int64_t i)
{
    a.type = OPS_F32;
    return ops_part(a, i);
}

/* The window has room for one array: array 0 leaves it for array 1, and comes back while its new
 * contents are still on their way to the file. */
Test(store, an_array_comes_back_on_its_way_to_the_file)
{
    struct ops *o = ops_open("emulated:1", 1);
    const uint64_t bytes[] = { BYTES, BYTES }, in_file[] = { BYTES, 0 };
    cr_assert(o, "%s", err_get());
    struct mapped *file = mapped_new(folder, bytes, 1, 2 * BYTES);
    struct offload *m = offload_new(o, bytes, in_file, 2, file, BYTES);
    struct home *home = offload_home(m);
    for (float x, round = 1; round < 20; round++) {
        ops_upload(o, float_at(home->fetch(home, 0, MODE_WRITE), 7), &round, 1);
        home->release(home, 0, THEN_LEAVES);
        home->fetch(home, 1, MODE_MAKE);
        home->release(home, 1, THEN_LEAVES);
        ops_download(o, &x, float_at(home->fetch(home, 0, MODE_READ), 7), 1);
        cr_assert_eq(x, round, "round %g: %g", round, x);
        home->release(home, 0, THEN_LEAVES);
    }
    offload_free(m);
    cr_assert_eq(mapped_check(file), 0);
    mapped_free(file);
    ops_free(o);
}

Test(store, parameters_of_the_caller_go_into_the_file)
{
    struct tensor_table t;
    struct store s;
    struct ops *o = ops_open("cpu", 1);
    struct store_config c = { .dir = folder };
    struct program program;
    make_table(&t);
    use_program(&c, &program, 1, 1, RECOMPUTE_NONE, 0);
    struct ops_array blocks[BLOCKS];
    const struct store_source from = { give_block, blocks };
    for (int b = 0; b < BLOCKS; b++) {
        blocks[b] = ops_buffer(o, OPS_F32, FLOATS);
        floats(blocks[b])[5] = (float)b + 1;
    }
    cr_assert_eq(store_open(&s, o, &t, &c, &from, 0), 0);
    for (int b = 0; b < BLOCKS; b++) {
        cr_assert_eq(floats(store_fetch(&s, STORE_PARAMETERS, b, MODE_READ, 0))[5], (float)b + 1);
        store_release(&s, STORE_PARAMETERS, b, 0);
    }
    store_close(&s);
    program_release(&program);
    tensor_release(&t);
    ops_free(o);
}

Test(store, a_folder_that_cannot_be_is_an_error)
{
    struct tensor_table t;
    struct store s;
    struct ops *o = ops_open("cpu", 1);
    struct store_config c = { .dir = "/dev/null/folder" };
    struct program program;
    make_table(&t);
    use_program(&c, &program, 1, 1, RECOMPUTE_NONE, 0);
    cr_assert_eq(store_open(&s, o, &t, &c, NULL, 0), -1);
    store_close(&s); /* fine */
    program_release(&program);
    tensor_release(&t);
    ops_free(o);
}

/* ---- bf16 ------------------------------------------------------------------------------------ */

/* With half_parameters, the caller's parameters must be rounded to the nearest bf16 numbers,
 * whether they are in memory or in the file; and they take half the bytes. */
Test(store, halves_hold_the_nearest)
{
    for (int in_file = 0; in_file < 2; in_file++) {
        struct tensor_table t;
        struct store s;
        struct ops *o = ops_open("cpu", 2);
        struct store_config c = { .dir = in_file ? folder : NULL, .half_parameters = 1 };
        struct program program;
        make_table(&t);
        use_program(&c, &program, 1, 1, RECOMPUTE_NONE, 0);
        struct ops_array blocks[BLOCKS];
        const struct store_source from = { give_block, blocks };
        for (int b = 0; b < BLOCKS; b++) {
            blocks[b] = ops_buffer(o, OPS_F32, FLOATS);
            for (int i = 0; i < FLOATS; i++)
                floats(blocks[b])[i] = (float)(b + 1) / (float)(i + 3);
        }
        cr_assert_eq(store_open(&s, o, &t, &c, &from, 7), 0);
        for (int b = BLOCKS; b-- > 0;) {
            struct ops_array x = store_fetch(&s, STORE_PARAMETERS, b, MODE_READ, 0);
            cr_assert_eq(x.type, OPS_BF16);
            for (int i = 0; i < FLOATS; i++) {
                float nearest = (float)(b + 1) / (float)(i + 3);
                trim(o, &nearest, 1);
                cr_assert_eq(bf16_at(x, i), nearest);
            }
            store_release(&s, STORE_PARAMETERS, b, 0);
            cr_assert_eq(layout_bytes(&s.layout, STORE_PARAMETERS, b), BYTES / 2);
        }
        cr_assert_eq(s.fetched, 0);
        store_close(&s);
        program_release(&program);
        tensor_release(&t);
        ops_free(o);
    }
}

/* Activations must have the type that the configuration says. Gradients and the sums in caches must
 * be floats. */
Test(store, rows_have_their_types)
{
    struct tensor_table t;
    struct store s;
    struct ops *o = ops_open("cpu", 1);
    struct store_config c = { .half_activations = 1 };
    struct program program;
    make_table(&t);
    use_program(&c, &program, 1, 1, RECOMPUTE_NONE, 33);
    cr_assert_eq(store_open(&s, o, &t, &c, NULL, 7), 0);
    cr_assert_eq(store_fetch(&s, STORE_X, 1, MODE_MAKE, 0).type, OPS_BF16);
    cr_assert_eq(store_fetch(&s, STORE_DX, 0, MODE_MAKE, 0).type, OPS_BF16);
    cr_assert_eq(store_fetch(&s, STORE_CACHE + CACHE_SUMS, 0, MODE_MAKE, 0).type, OPS_F32);
    cr_assert_eq(store_fetch(&s, STORE_GRADIENTS, 0, MODE_MAKE, 0).type, OPS_F32);
    cr_assert_eq(store_fetch(&s, STORE_PARAMETERS, 0, MODE_MAKE, 0).type, OPS_F32);
    store_close(&s);
    program_release(&program);
    tensor_release(&t);
    ops_free(o);
}

/* If arrays are moved equally often and memory has room for one of them beside the window, that one
 * must be the embedding. */
Test(store, the_embedding_stays_first)
{
    struct tensor_table t;
    struct layout l;
    struct store_config c = { .dir = folder, .memory_bytes = (1 + 2 * 4) * BYTES };
    struct program p;
    make_table(&t);
    use_program(&c, &p, 1, 1, RECOMPUTE_NONE, 0);
    for (int b = 1; b < BLOCKS - 1; b++)
        cr_assert_eq(p.moves[STORE_PARAMETERS][b].reads, p.moves[STORE_PARAMETERS][0].reads);
    cr_assert_eq(layout_init(&l, &t, &c), 0);
    cr_assert(l.place[STORE_PARAMETERS][0] == PLACE_MEMORY &&
              l.place[STORE_PARAMETERS][1] == PLACE_FILE);
    layout_release(&l);
    tensor_release(&t);
    program_release(&p);
}

/* Rows are planned together with the other arrays: those that are moved more often stay in memory,
 * and so does a row that is the only one of its kind. */
Test(store, rows_stay_by_how_often_they_are_moved)
{
    struct tensor_table t;
    struct store_plan p;
    struct program program;
    struct store_config c = { .dir = folder };
    make_table(&t);
    use_program(&c, &program, 12, 4, RECOMPUTE_LAYER, FLOATS);
    cr_assert_eq(store_plan(&p, &t, &c), 0);
    cr_assert_eq(p.memory_bytes, CACHE_PARTS * BYTES); /* there is one of each part */
    cr_assert_eq(p.file_bytes, (16 + 12 + 4) * BYTES);
    /* as the head ends, its own and the embedding's parameters and gradients, x and dx, and of the
     * last layer parameters, gradients, x before and behind it, and dx */
    cr_assert_eq(p.window_bytes, (4 + 2 + 5) * BYTES);
    c.memory_bytes = (CACHE_PARTS + 6 + 9) * BYTES;
    struct layout l;
    cr_assert_eq(layout_init(&l, &t, &c), 0);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(l.place[STORE_DX][i], PLACE_MEMORY);
    cr_assert(l.place[STORE_X][0] == PLACE_MEMORY && l.place[STORE_PARAMETERS][0] == PLACE_FILE);
    cr_assert_eq(l.place[STORE_MOMENT1][1], PLACE_FILE);
    cr_assert_eq(l.place[STORE_X][11], PLACE_FILE); /* which the head reads */
    layout_release(&l);
    tensor_release(&t);
    program_release(&program);
}
