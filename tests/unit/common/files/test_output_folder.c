/* Folders that appear when they are complete. */
#include <criterion/criterion.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/files/output_folder.h"
#include "common/files/paths.h"
#include "common/files/temp.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"

TestSuite(output_folder, .init = make_dir, .fini = remove_dir);

Test(output_folder, recovery_leaves_a_running_program_alone)
{
    struct output_folder f;
    cr_assert_eq(output_folder_open(&f, in_dir("new")), 0, "%s", err_get());
    cr_expect_eq(output_folder_recover(in_dir("new")), 0);
    cr_expect_eq(output_folder_close(&f), 0, "%s", err_get());
    cr_expect_eq(output_folder_recover(in_dir("new")), 0);
}

/* A run may end while it replaces a folder in two steps: the old one is in its temporary folder. */
Test(output_folder, recovery_brings_the_old_folder_back)
{
    struct output_folder f;
    cr_assert_eq(file_mkdirs(in_dir("it")), 0);
    put_text("it/file", "old");
    cr_assert_eq(output_folder_open(&f, in_dir("it/")), 0, "%s", err_get());
    SCOPED(buf) old = file_path(f.temp, "old");
    cr_assert_eq(rename(in_dir("it"), old.data), 0);
    cr_expect_eq(output_folder_recover(in_dir("it")), 0, "the run goes on");
    close(f.lock);
    cr_assert_eq(file_mkdirs(in_dir("it/new")), 0);
    cr_expect_eq(output_folder_recover(in_dir("it")), 0, "both steps are done");
    temp_remove(in_dir("it"));
    cr_expect_eq(output_folder_recover(in_dir("it/")), 1, "%s", err_get());
    cr_expect_eq(look(in_dir("it/file")), FILE_PLAIN);
    cr_expect_eq(output_folder_recover(in_dir("it")), 0);
}

/* What came into the folder during the run would be lost with the old one. */
Test(output_folder, replaces_what_it_saw)
{
    struct output_folder f;
    for (int more = 0; more <= 1; more++) {
        cr_assert_eq(file_mkdirs(in_dir("it")), 0);
        put_text("it/a", "old");
        cr_assert_eq(output_folder_open(&f, in_dir("it")), 0, "%s", err_get());
        if (more)
            put_text("it/b", "precious");
        cr_expect_eq(output_folder_close(&f), more ? -1 : 0, "%s", err_get());
        cr_expect_eq(look(in_dir("it/a")), more ? FILE_PLAIN : FILE_NONE);
    }
    expect_error("/it': 'b' came into it during the run");
    cr_expect_eq(look(in_dir("it/b")), FILE_PLAIN);
    SCOPED(file_names) names = { 0 };
    cr_assert_eq(file_list_all(&names, dir), 0);
    cr_expect_eq(names.count, 1, "%s", names.names[0]);
}

Test(output_folder, one_training_in_a_folder)
{
    int one, two;
    cr_expect_eq(output_folder_lock(dir, &one), 0);
    cr_expect_eq(output_folder_lock(dir, &two), -1);
    expect_error("another training is running in '/tmp/");
    close(two);
    close(one);
    cr_expect_eq(output_folder_lock(dir, &two), 0);
    close(two);
}

/* Without the lock another run would write there, too. A link that leads to itself cannot be opened
 * even by root. */
Test(output_folder, a_folder_that_cannot_be_locked_is_refused)
{
    int lock;
    cr_assert_eq(symlink("loop", in_dir("loop")), 0);
    cr_expect_eq(output_folder_lock(in_dir("loop"), &lock), -1);
    expect_error("cannot open folder '/tmp/");
    cr_expect_eq(output_folder_lock(in_dir("none"), &lock), 0, "%s", err_get());
    cr_expect_eq(lock, -1);
}

Test(output_folder, a_mount_point_is_refused_at_once)
{
    struct output_folder f;
    cr_expect_eq(output_folder_open(&f, "/proc/"), -1);
    expect_error("'/proc' is a mount point");
    output_folder_abandon(&f);
}

/* Its temporary folder would be made inside, also where the folder is not there yet. */
Test(output_folder, the_folder_dot_is_refused_at_once)
{
    static const char *const names[] = { ".", "new/." };
    struct output_folder f;
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(output_folder_open(&f, in_dir(names[i])), -1);
        expect_error("/.' is the folder '.', which no folder can replace");
        output_folder_abandon(&f);
    }
    cr_expect_eq(look(in_dir("new")), FILE_NONE);
}

Test(output_folder, one_file_by_several_names)
{
    char plain[4096], dotted[4096], other[4096], link[4096];
    snprintf(plain, sizeof plain, "%s", in_dir("a"));
    snprintf(dotted, sizeof dotted, "%s", in_dir("./a"));
    snprintf(other, sizeof other, "%s", in_dir("b"));
    snprintf(link, sizeof link, "%s", in_dir("link"));
    cr_assert_eq(symlink("a", link), 0);
    cr_expect(file_same(plain, plain) && file_same(plain, dotted) && file_same(link, dotted));
    cr_expect(!file_same(plain, other) && !file_same(other, link) && !file_same(plain, "-"));
    cr_expect(!file_same("a", plain) && file_same("a", "./a"));
}

Test(paths, outputs_of_many_files_take_little_time, .timeout = 8)
{
    enum { FILES = 60000 }; /* steps in the square of it would take longer */
    struct file_names in = { 0 }, out;
    char name[64];
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "part-%05d.jsonl.gz", i);
        file_names_add(&in, name);
    }
    cr_assert_eq(paths_outputs(&out, &in, in.names, FILES), 0);
    cr_assert_eq(out.count, FILES);
    cr_expect_str_eq(out.names[7], "part-00007.jsonl");
    file_names_release(&in);
    file_names_release(&out);
}
