/* The tasks of a CORE folder, whose random baselines are in a table. */
#include <criterion/criterion.h>

#include "common/base/err.h"
#include "eval/core_tasks.h"

Test(core_tasks, have_the_baselines_of_the_table)
{
    static const struct core_task want[] = {
        { "choice", NULL, "", CORE_CHOICE, 2, 0.5 },
        { "schema", NULL, " ", CORE_SCHEMA, 0, 0.5 },
        { "language", NULL, "", CORE_LANGUAGE, 1, 0 },
    };
    struct core_tasks t;
    cr_assert_eq(core_tasks_read(&t, "tests/golden/evaluate/evaluate-core/tasks"), 0, "%s",
                 err_get());
    cr_assert_eq(t.count, 3);
    for (size_t i = 0; i < t.count; i++) {
        const struct core_task *task = &t.tasks[i];
        cr_expect_str_eq(task->label, want[i].label);
        cr_expect_str_eq(task->delimiter, want[i].delimiter);
        cr_expect(task->kind == want[i].kind && task->examples == want[i].examples &&
                  task->baseline == want[i].baseline);
    }
    core_tasks_release(&t);
}
