#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/files/file.h"
#include "model/network/model.h"
#include "tests/unit/arrays.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "tests/unit/set_path.h"
#include "train/checkpoint.h"
#include "train/step/optimizer.h"
#include "train/sums.h"

TestSuite(checkpoint, .init = make_dir, .fini = remove_dir);

/* Makes a checkpoint whose state has the lines `more`, too. */
static void make_checkpoint(const char *name, const char *more)
{
    struct buf path = BUF_INIT, state = BUF_INIT;
    buf_addf(&path, "%s/checkpoints/%s/training", dir, name);
    cr_assert_eq(file_mkdirs(path.data), 0);
    buf_adds(&path, "/state");
    buf_addf(&state, "textmill=checkpoint 1\n%s", more);
    cr_assert_eq(file_write(path.data, state.data, state.len), 0);
    buf_release(&path);
    buf_release(&state);
}

static void make_folder(const char *name)
{
    make_checkpoint(name, "");
}

static void put_file(const char *name)
{
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s/checkpoints/%s", dir, name);
    cr_assert_eq(file_write(path.data, "", 0), 0);
    buf_release(&path);
}

static struct comm *alone(void)
{
    static struct comm c;
    comm_init(&c);
    return &c;
}

static int there(const char *name)
{
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s/checkpoints/%s", dir, name);
    int result = (look(path.data) == FILE_FOLDER);
    buf_release(&path);
    return result;
}

/* Checks that `name` is the latest checkpoint: the one that is left when one is kept. */
static void check_latest(const char *name)
{
    cr_assert_eq(checkpoint_prune(dir, 1), 0, "%s", err_get());
    cr_assert(there(name));
}

Test(checkpoint, there_is_none_at_first)
{
    struct checkpoint c;
    struct buf config = BUF_INIT, path = BUF_INIT, damaged = BUF_INIT;
    cr_assert_eq(checkpoint_find(dir, alone(), &path, &c, &config, &damaged), 0, "%s", err_get());
    cr_assert_eq(damaged.len, 0);
    buf_release(&config);
    buf_release(&path);
    buf_release(&damaged);
}

Test(checkpoint, latest_is_by_number_not_by_letters)
{
    make_folder("step-9");
    make_folder("step-000100");
    make_folder("step-1000000");
    make_folder("step-999999");
    make_folder("step-2000000x"); /* somebody's own */
    check_latest("step-1000000");
}

Test(checkpoint, what_killed_runs_left_does_not_count_and_goes)
{
    make_folder("step-000010");
    make_folder("step-000020.textmill-abcdefghij");
    make_folder("step-000030.textmill-abcdefghij"); /* somebody's own: it has no mark */
    put_file("step-000020.textmill-abcdefghij/.textmill-checkpoint");
    check_latest("step-000010");
    cr_assert(!there("step-000020.textmill-abcdefghij"));
    cr_assert(there("step-000030.textmill-abcdefghij"));
}

Test(checkpoint, pruning_keeps_the_last)
{
    make_folder("step-000008");
    make_folder("step-000009");
    make_folder("step-000010");
    make_folder("notes");
    cr_assert_eq(checkpoint_prune(dir, 0), 0);
    cr_assert(there("step-000008"));
    cr_assert_eq(checkpoint_prune(dir, 2), 0);
    cr_assert(!there("step-000008"));
    cr_assert(there("step-000009") && there("step-000010") && there("notes"));
    cr_assert_eq(checkpoint_prune(dir, 5), 0);
    cr_assert(there("step-000009") && there("step-000010"));
}

/* A checkpoint goes only if the program wrote all that is in it. */
Test(checkpoint, pruning_removes_no_file_of_the_users)
{
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s/checkpoints/step-000001", dir);
    cr_assert_eq(file_mkdirs(path.data), 0); /* no checkpoint */
    make_folder("step-000002");
    put_file("step-000002/notes");
    make_folder("step-000003");
    put_file("step-000003/training/.notes");
    make_checkpoint("step-000004", "file=model.safetensors 0 00000000\n");
    put_file("step-000004/model.safetensors");
    check_latest("step-000004");
    make_folder("step-000005");
    check_latest("step-000005");
    cr_assert(there("step-000001") && there("step-000002") && there("step-000003"));
    cr_assert(!there("step-000004"));
    cr_assert_eq(checkpoint_remove_all(dir), -1);
    cr_assert(there("step-000001") && there("step-000002") && there("step-000003"));
    buf_release(&path);
}

static void make_validated(const char *name, const char *loss)
{
    struct buf more = BUF_INIT;
    buf_addf(&more, "validation=%s\n", loss);
    make_checkpoint(name, more.data);
    buf_release(&more);
}

/* Pruning must keep the checkpoint of the lowest validation loss, and of equal ones the latest. */
Test(checkpoint, pruning_keeps_the_best)
{
    make_validated("step-000001", "3.5");
    make_validated("step-000002", "2.5");
    make_validated("step-000003", "2.5");
    make_validated("step-000004", "nan");
    make_validated("step-000005", "2.75");
    cr_assert_eq(checkpoint_prune(dir, 1), 0, "%s", err_get());
    cr_assert(there("step-000003") && there("step-000005"));
    cr_assert(!there("step-000001") && !there("step-000002") && !there("step-000004"));
}

Test(checkpoint, one_without_state_is_an_error_that_names_it)
{
    struct checkpoint c;
    struct buf config = BUF_INIT, path = BUF_INIT;
    buf_addf(&path, "%s/checkpoints/step-000010/training", dir);
    cr_assert_eq(file_mkdirs(path.data), 0);
    *strstr(path.data, "/training") = '\0';
    buf_truncate(&path, strlen(path.data));
    cr_assert_eq(checkpoint_read(path.data, alone(), &c, &config), SUMS_DAMAGED);
    cr_assert(strstr(err_get(), "step-000010/training/state"), "%s", err_get());
    buf_addf(&path, "/training/state");
    cr_assert_eq(file_write(path.data, "textmill=other\n", 15), 0);
    *strstr(path.data, "/training") = '\0';
    cr_assert_eq(checkpoint_read(path.data, alone(), &c, &config), SUMS_DAMAGED);
    cr_assert(strstr(err_get(), "not a checkpoint"), "%s", err_get());
    buf_release(&config);
    buf_release(&path);
}

Test(checkpoint, all_files_of_a_folder_have_sums)
{
    struct kv state = { 0 };
    uint32_t sum;
    cr_assert_eq(file_write(in_dir("a.safetensors"), "\2\0\0\0\0\0\0\0{}", 10), 0);
    put_text("b", "text");
    cr_assert_eq(sums_add(&state, dir, ""), 0, "%s", err_get());
    cr_expect(sums_of_file(&state, "a.safetensors", &sum) && sums_of_file(&state, "b", &sum));
    cr_expect_eq(sums_check(&state, dir, 0, 1), 0, "%s", err_get());
    put_text("b", "Text");
    cr_expect_eq(sums_check(&state, dir, 0, 1), SUMS_DAMAGED);
    cr_expect(strstr(err_get(), "/b"), "%s", err_get());
    kv_release(&state);
}

/* ---- what a resumed run goes on with --------------------------------------------------------- */

/* A small GPT with a store for AdamW. Element i of tensor t's moment of kind k is k + t / 10 + i /
 * 1000. */
struct whole {
    struct model model;
    struct ops *ops;
    struct store store;
    struct settings settings; /* of begin_save, like the plan */
    struct plan plan;
};

static float *moment(const struct whole *w, int kind, size_t t)
{
    struct ops_array array = w->store.spots[kind][w->model.tensors.rows[t].block].array;
    return floats(store_tensor(&w->store, (enum store_kind)kind, array, t));
}

static void open_whole(struct whole *w, int fill)
{
    const struct model_config m = { .layers = 1,
                                    .width = 8,
                                    .heads = 2,
                                    .inner = 16,
                                    .positions = 4,
                                    .vocabulary = 11,
                                    .epsilon = 1e-5,
                                    .init_std = 0.02 };
    cr_assert((w->ops = ops_open("cpu", 1)), "%s", err_get());
    cr_assert_eq(model_init(&w->model, &m), 0, "%s", err_get());
    unsigned char *moments = optimizer_moments(OPTIMIZER_ADAMW, &w->model.tensors);
    struct store_config c = { .moments = moments };
    cr_assert_eq(store_open(&w->store, w->ops, &w->model.tensors, &c, NULL, 1), 0);
    free(moments);
    for (int kind = STORE_MOMENT1; fill && kind <= STORE_MOMENT2; kind++)
        for (size_t t = 0; t < w->model.tensors.count; t++)
            for (int64_t i = 0; i < tensor_elements(&w->model.tensors.rows[t]); i++)
                moment(w, kind, t)[i] = (float)(kind + 0.1 * (double)t + 1e-3 * (double)i);
}

static void close_whole(struct whole *w)
{
    store_close(&w->store);
    model_release(&w->model);
    ops_free(w->ops);
}

/* Begins to save. The caller ends it with end_save. */
static struct checkpoint_work *begin_save(struct whole *w, enum saved_files files)
{
    struct checkpoint_work *work;
    const struct checkpoint at = { .step = 12,
                                   .position = 345,
                                   .tokens = 6789,
                                   .sequences = 1000,
                                   .vocabulary = UINT64_MAX,
                                   .leaves = 8,
                                   .seconds = 1.5,
                                   .validation = 3.25 };
    w->settings = (struct settings){ .output = dir, .checkpoint_files = (int)files };
    w->plan = (struct plan){ .settings = &w->settings, .model = w->model };
    const struct checkpoint_content content = { &w->plan, &w->store, alone(), "seed: 1\n" };
    cr_assert_eq(checkpoint_begin(&work, &at, &content), 0, "%s", err_get());
    return work;
}

static int end_save(struct checkpoint_work *work)
{
    int result = 1;
    while (result > 0)
        result = checkpoint_go_on(&work);
    cr_assert_null(work);
    return result;
}

static void save_as(struct whole *w, struct buf *path, enum saved_files files)
{
    cr_assert_eq(end_save(begin_save(w, files)), 0, "%s", err_get());
    buf_clear(path);
    buf_addf(path, "%s/checkpoints/step-000012", dir);
    cr_assert(look(path->data) == FILE_FOLDER);
}

static void save_whole(struct whole *w, struct buf *path)
{
    save_as(w, path, SAVED_ONE);
}

Test(checkpoint, the_store_may_change_while_the_disk_is_waited_for)
{
    for (enum saved_files files = SAVED_ONE; files <= SAVED_BLOCK; files++) {
        struct whole w;
        SCOPED(buf) path = BUF_INIT, config = BUF_INIT;
        struct checkpoint c;
        open_whole(&w, 1);
        struct checkpoint_work *work = begin_save(&w, files);
        const float saved = moment(&w, STORE_MOMENT1, 0)[3];
        moment(&w, STORE_MOMENT1, 0)[3] = 77;
        cr_assert_eq(end_save(work), 0, "%s", err_get());
        buf_addf(&path, "%s/checkpoints/step-000012", dir);
        cr_assert_eq(checkpoint_read(path.data, alone(), &c, &config), 0, "%s", err_get());
        cr_assert_eq(saved_read_moments(path.data, &w.store), 0, "%s", err_get());
        cr_expect_eq(moment(&w, STORE_MOMENT1, 0)[3], saved);
        close_whole(&w);
        cr_assert_eq(checkpoint_remove_all(dir), 0, "%s", err_get());
    }
}

Test(checkpoint, an_error_of_the_thread_is_told_and_leaves_nothing)
{
    struct whole w;
    SCOPED(buf) path = BUF_INIT;
    open_whole(&w, 1);
    save_whole(&w, &path);
    struct checkpoint_work *work = NULL;
    rename(path.data, in_dir("aside"));
    work = begin_save(&w, SAVED_ONE);
    cr_assert_not_null(work);
    mkdir(path.data, 0777); /* a folder with a file, which the new one cannot replace */
    buf_adds(&path, "/file");
    cr_assert_eq(file_write(path.data, "x", 1), 0);
    cr_expect_eq(end_save(work), -1);
    cr_expect(strstr(err_get(), "cannot save the checkpoint of step 12: cannot rename"), "%s",
              err_get());
    SCOPED(file_names) left = { 0 };
    cr_assert_eq(file_list_all(&left, in_dir("checkpoints")), 0);
    cr_expect_eq(left.count, 1);
    close_whole(&w);
}

Test(checkpoint, position_and_counters_come_back)
{
    struct whole w;
    struct checkpoint c;
    struct buf config = BUF_INIT, path = BUF_INIT;
    open_whole(&w, 1);
    save_whole(&w, &path);
    cr_assert_eq(checkpoint_read(path.data, alone(), &c, &config), 0, "%s", err_get());
    cr_expect(c.step == 12 && c.position == 345 && c.tokens == 6789 && c.sequences == 1000);
    cr_expect(c.vocabulary == UINT64_MAX && c.leaves == 8 && c.seconds == 1.5);
    cr_expect_str_eq(config.data, "seed: 1\n");
    buf_release(&config);
    buf_release(&path);
    close_whole(&w);
}

static void check_moments(enum saved_files files)
{
    struct whole w, again;
    struct buf path = BUF_INIT;
    open_whole(&w, 1);
    open_whole(&again, 0);
    save_as(&w, &path, files);
    cr_assert_eq(saved_read_moments(path.data, &again.store), 0, "%s", err_get());
    for (int kind = STORE_MOMENT1; kind <= STORE_MOMENT2; kind++)
        for (size_t t = 0; t < w.model.tensors.count; t++)
            cr_expect_arr_eq(moment(&again, kind, t), moment(&w, kind, t),
                             (size_t)tensor_elements(&w.model.tensors.rows[t]) * sizeof(float),
                             "%s", w.model.tensors.rows[t].name);
    buf_release(&path);
    close_whole(&w);
    close_whole(&again);
}

Test(checkpoint, both_moments_come_back)
{
    check_moments(SAVED_ONE);
}

Test(checkpoint, moments_in_several_files_come_back)
{
    check_moments(SAVED_BLOCK);
    cr_expect(saved_choice(5000000000) == SAVED_ONE && saved_choice(5000000001) == SAVED_BLOCK);
}

Test(checkpoint, a_damaged_one_is_passed_over_and_set_aside)
{
    struct whole w;
    struct checkpoint c;
    struct buf config = BUF_INIT, path = BUF_INIT, damaged = BUF_INIT;
    open_whole(&w, 1);
    save_whole(&w, &path);
    make_folder("step-000020"); /* without state */
    cr_assert_eq(checkpoint_find(dir, alone(), &path, &c, &config, &damaged), 1, "%s", err_get());
    cr_expect(strstr(path.data, "step-000012") && c.step == 12);
    cr_expect(strstr(damaged.data, "step-000020") && there("step-000020.damaged"));
    check_latest("step-000012");
    buf_release(&config);
    buf_release(&path);
    buf_release(&damaged);
    close_whole(&w);
}

/* An error of the file system, such as too many links here, may go away: nothing is set aside, and
 * no older checkpoint is taken. */
Test(checkpoint, one_that_cannot_be_read_is_not_damaged)
{
    struct whole w;
    struct checkpoint c;
    SCOPED(buf) config = BUF_INIT, path = BUF_INIT, damaged = BUF_INIT;
    open_whole(&w, 1);
    save_whole(&w, &path);
    make_checkpoint("step-000020", "step=20\nposition=1\ntokens=1\nsequences=1\nmilliseconds=1\n"
                                   "file=config.json 2 00000000\n");
    cr_assert_eq(symlink("config.json", in_dir("checkpoints/step-000020/config.json")), 0);
    cr_expect_eq(checkpoint_find(dir, alone(), &path, &c, &config, &damaged), -1);
    cr_expect(strstr(err_get(), "step-000020/config.json"), "%s", err_get());
    cr_expect(there("step-000020") && !there("step-000020.damaged"));
    close_whole(&w);
}

/* Pruning goes on beside a checkpoint whose state is damaged, and keeps it. */
Test(checkpoint, pruning_passes_over_a_damaged_state)
{
    make_checkpoint("step-000001", "no line of a state\n");
    make_folder("step-000002");
    make_folder("step-000003");
    check_latest("step-000003");
    cr_expect(there("step-000001") && !there("step-000002"));
}

/* The settings are those of the newest whose small files are whole; the oldest, if none is. */
Test(checkpoint, the_newest_with_whole_settings)
{
    struct whole w;
    SCOPED(buf) path = buf_format("x");
    cr_assert_eq(checkpoint_newest(dir, &path), 0, "%s", err_get());
    cr_expect_str_eq(path.data, "");
    make_folder("step-000020"); /* lists no file */
    cr_assert_eq(checkpoint_newest(dir, &path), 0, "%s", err_get());
    cr_expect_str_eq(file_name(path.data), "step-000020");
    make_folder("step-000009");
    open_whole(&w, 1);
    save_whole(&w, &path);
    make_checkpoint("step-000030", "file=training/config.yaml 8 00000000\n"); /* not there */
    cr_assert_eq(file_write(in_dir("checkpoints/step-000012/model.safetensors"), "", 0), 0);
    cr_assert_eq(checkpoint_newest(dir, &path), 0, "%s", err_get());
    cr_expect_str_eq(file_name(path.data), "step-000012");
    cr_assert_eq(file_write(in_dir("checkpoints/step-000012/training/config.yaml"), "x", 1), 0);
    cr_assert_eq(checkpoint_newest(dir, &path), 0, "%s", err_get());
    cr_expect_str_eq(file_name(path.data), "step-000009");
    make_checkpoint("step-000040", "file=config.json 2 00000000\n");
    cr_assert_eq(symlink("config.json", in_dir("checkpoints/step-000040/config.json")), 0);
    cr_expect_eq(checkpoint_newest(dir, &path), -1);
    cr_expect(strstr(err_get(), "step-000040/config.json"), "%s", err_get());
    close_whole(&w);
}
