/* Folders that appear when they are complete. */
#include <criterion/criterion.h>

#include "common/base/err.h"
#include "common/files/output_folder.h"
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

Test(output_folder, a_mount_point_is_refused_at_once)
{
    struct output_folder f;
    cr_expect_eq(output_folder_open(&f, "/proc/"), -1);
    expect_error("'/proc' is a mount point");
    output_folder_abandon(&f);
}
