#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/file.h"
#include "tests/unit/look.h"
#include "train/checkpoint.h"

static char dir[] = "/tmp/textmill-checkpoint-XXXXXX";

static void make_dir(void)
{
    cr_assert(mkdtemp(dir));
}

static void remove_dir(void)
{
    file_remove_tree(dir);
}

TestSuite(checkpoint, .init = make_dir, .fini = remove_dir);

static void make_folder(const char *name)
{
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s/checkpoints/%s/training", dir, name);
    cr_assert_eq(file_mkdirs(path.data), 0);
    buf_release(&path);
}

static int there(const char *name)
{
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s/checkpoints/%s", dir, name);
    int result = (look(path.data) == FILE_FOLDER);
    buf_release(&path);
    return result;
}

static void check_latest(const char *name)
{
    struct buf path = BUF_INIT;
    cr_assert_eq(checkpoint_latest(dir, &path), 1);
    cr_assert_str_eq(strrchr(path.data, '/') + 1, name);
    buf_release(&path);
}

Test(checkpoint, there_is_none_at_first)
{
    struct buf path = BUF_INIT;
    cr_assert_eq(checkpoint_latest(dir, &path), 0);
    buf_release(&path);
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
    make_folder("step-000020.tmp");
    check_latest("step-000010");
    cr_assert(!there("step-000020.tmp"));
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

Test(checkpoint, one_without_state_is_an_error_that_names_it)
{
    struct checkpoint c;
    struct buf config = BUF_INIT, path = BUF_INIT;
    make_folder("step-000010");
    buf_addf(&path, "%s/checkpoints/step-000010", dir);
    cr_assert_eq(checkpoint_read(path.data, &c, &config), -1);
    cr_assert(strstr(err_get(), "step-000010/training/state"), "%s", err_get());
    buf_addf(&path, "/training/state");
    cr_assert_eq(file_write(path.data, "textmill=other\n", 15), 0);
    *strstr(path.data, "/training") = '\0';
    cr_assert_eq(checkpoint_read(path.data, &c, &config), -1);
    cr_assert(strstr(err_get(), "not a checkpoint"), "%s", err_get());
    buf_release(&config);
    buf_release(&path);
}
