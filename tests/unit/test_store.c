#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/err.h"
#include "train/store.h"

/* Four blocks of one matrix of 64 x 256 floats, 64 KiB. */

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

static void make_table(struct tensor_table *t)
{
    *t = (struct tensor_table){ 0 };
    for (int b = 0; b < BLOCKS; b++)
        tensor_add(t, b, (char[]){ 'a' + (char)b, 0 }, 64, 256, INIT_NORMAL, 1, 1, SPLIT_NONE);
}

TestSuite(store, .init = make_folder, .fini = remove_folder);

Test(store, keeps_in_memory_what_is_used_most)
{
    struct tensor_table t;
    struct store_plan p;
    struct store_config c = { .dir = folder };
    make_table(&t);
    cr_assert_eq(store_plan(&p, &t, &c), 0); /* as little as it can */
    cr_assert_eq(p.memory_bytes, 0);
    cr_assert_eq(p.file_bytes, 16 * BYTES);
    cr_assert_eq(p.window_bytes, 2 * 4 * BYTES);
    c.memory_bytes = 12 * BYTES; /* room for the window of three arrays a block */
    cr_assert_eq(store_plan(&p, &t, &c), 0);
    cr_assert_leq(p.memory_bytes + p.window_bytes, c.memory_bytes);
    cr_assert_eq(p.memory_bytes, 6 * BYTES);
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
}

/* Twenty rounds in which each array is changed while the next is expected: with all places and
 * any share of the arrays in the file the bytes are those of plain memory. */
static void check_contents(uint64_t memory)
{
    struct tensor_table t;
    struct store s, plain;
    struct ops *o = ops_new(2);
    struct store_config c = { .dir = folder, .memory_bytes = memory };
    make_table(&t);
    cr_assert_eq(store_open(&plain, o, &t, NULL, NULL, 7), 0);
    cr_assert_eq(store_open(&s, o, &t, &c, NULL, 7), 0, "%s", err_get());
    for (int round = 0; round < 20; round++)
        for (int b = 0; b < BLOCKS; b++)
            for (int kind = 0; kind < STORE_KINDS; kind++) {
                float *x = store_fetch(&s, kind, b);
                store_expect(&s, kind, b + 1, MAPPED_WRITE);
                for (int i = 0; i < FLOATS; i++) {
                    x[i] = x[i] * 0.5f + (float)(round + kind);
                    plain.arrays[kind][b][i] = plain.arrays[kind][b][i] * 0.5f + (float)(round + kind);
                }
                store_release(&s, kind, b);
                if (kind == STORE_GRADIENTS && round % 3 == 0) {
                    store_zero(&s, kind, b);
                    memset(plain.arrays[kind][b], 0, BYTES);
                }
            }
    for (int kind = 0; kind < STORE_KINDS; kind++)
        for (int b = 0; b < BLOCKS; b++) {
            const float *x = store_view(&s, kind, b);
            cr_assert_arr_eq(x, plain.arrays[kind][b], BYTES, "array %d of block %d", kind, b);
            store_release(&s, kind, b);
        }
    cr_assert_eq(store_check(&s), 0);
    struct mapped_traffic moved = store_traffic(&s);
    cr_assert(memory ? 1 : moved.read_bytes > 15 * 16 * BYTES);
    cr_assert(memory ? 1 : moved.written_bytes > 15 * 16 * BYTES);
    store_close(&s);
    store_close(&plain);
    tensor_release(&t);
    ops_free(o);
}

Test(store, arrays_in_a_file_hold_what_was_written)
{
    check_contents(0);
    check_contents(12 * BYTES);
    check_contents(16 * BYTES);
}

Test(store, parameters_of_the_caller_go_into_the_file)
{
    struct tensor_table t;
    struct store s;
    struct ops *o = ops_new(1);
    struct store_config c = { .dir = folder };
    make_table(&t);
    float **blocks = calloc(BLOCKS, sizeof *blocks);
    for (int b = 0; b < BLOCKS; b++) {
        blocks[b] = ops_buffer(o, FLOATS);
        blocks[b][5] = (float)b + 1;
    }
    cr_assert_eq(store_open(&s, o, &t, &c, blocks, 0), 0);
    for (int b = 0; b < BLOCKS; b++) {
        cr_assert_eq(store_view(&s, STORE_PARAMETERS, b)[5], (float)b + 1);
        store_release(&s, STORE_PARAMETERS, b);
    }
    cr_assert_eq(store_all(&s, STORE_PARAMETERS)[2][5], 3);
    store_close(&s);
    tensor_release(&t);
    ops_free(o);
}

Test(store, a_folder_that_cannot_be_is_an_error)
{
    struct tensor_table t;
    struct store s;
    struct ops *o = ops_new(1);
    struct store_config c = { .dir = "/dev/null/folder" };
    make_table(&t);
    cr_assert_eq(store_open(&s, o, &t, &c, NULL, 0), -1);
    store_close(&s); /* fine */
    tensor_release(&t);
    ops_free(o);
}
