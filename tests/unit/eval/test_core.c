/* Which answer `evaluate core` chooses. The model of tests/data/successor expects each letter after
 * the one before it in the alphabet. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>

#include "eval/evaluate_commands.h"
#include "tests/unit/command.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"

TestSuite(core, .init = make_dir, .fini = remove_dir);

static int run_task(const char *kind, const char *options, const char *questions)
{
    SCOPED(buf) line = buf_format("--json %s --model tests/data/successor %s", options, dir);
    SCOPED(buf) yaml = buf_format("icl_tasks:\n"
                                  "  - {label: t, dataset_uri: q.jsonl, num_fewshot: 0,\n"
                                  "     icl_task_type: %s, continuation_delimiter: '',\n"
                                  "     random_baseline: 0}\n",
                                  kind);
    put_text("core.yaml", yaml.data);
    put_text("q.jsonl", questions);
    return run_command(&core_command, line.data);
}

/* Runs a task and expects the numbers of the answers that are chosen. */
static void expect_chosen(const char *kind, const char *options, const char *questions,
                          const char *numbers)
{
    char text[200];
    SCOPED(buf) chosen = BUF_INIT;
    cr_redirect_stdout();
    cr_assert_eq(run_task(kind, options, questions), 0, "%s", err_get());
    fflush(stdout);
    for (FILE *f = cr_get_redirected_stdout(); fgets(text, sizeof text, f);) {
        const char *at = strstr(text, "\"chosen\": ");
        if (at)
            buf_addf(&chosen, "%d ", atoi(at + 10));
    }
    cr_expect_str_eq(chosen.data, numbers);
}

/* What the prompts have in common is not counted: "qjxm" would favour long answers. The loss of the
 * rest is a mean: a sum would favour short ones. */
Test(core, choices_differ_behind_their_common_beginning)
{
    expect_chosen(
        "multiple_choice", "",
        "{\"query\": \"qjxm\", \"choices\": [\"oxnopqrst\", \"n\", \"pqx\"], \"gold\": 1}\n"
        "{\"query\": \"abc\", \"choices\": [\"x\", \"eabcdfghijklm\"], \"gold\": 1}\n"
        "{\"query\": \"abc\", \"choices\": [\"defx\", \"defg\", \"defq\"], \"gold\": 1}\n",
        "1 1 1 ");
}

Test(core, contexts_are_judged_by_their_common_end)
{
    expect_chosen(
        "schema", "",
        "{\"context_options\": [\"x\", \"a\", \"qq\"], \"continuation\": \"bcd\", \"gold\": 1}\n",
        "1 ");
}

/* Python: random.Random(7).shuffle(list(range(4))) gives 3, 1, 0, 2. */
Test(core, questions_are_shuffled_as_python_does)
{
    expect_chosen(
        "schema", "--shuffle 7 --limit 3",
        "{\"context_options\": [\"a\", \"x\", \"x\", \"x\"], \"continuation\": \"b\", \"gold\": 0}\n"
        "{\"context_options\": [\"x\", \"a\", \"x\", \"x\"], \"continuation\": \"b\", \"gold\": 0}\n"
        "{\"context_options\": [\"x\", \"x\", \"a\", \"x\"], \"continuation\": \"b\", \"gold\": 0}\n"
        "{\"context_options\": [\"x\", \"x\", \"x\", \"a\"], \"continuation\": \"b\", \"gold\": 0}\n",
        "3 1 0 ");
}

Test(core, refuses)
{
    static const struct {
        const char *kind, *question, *error;
    } all[] = {
        { "language_modeling", "{\"context\": \"a\", \"continuation\": \"\"}",
          "q.jsonl: question 0: the continuation has no token" },
        { "language_modeling", "{\"context\": \"a\"}", "q.jsonl:1: " },
        { "multiple_choice", "{\"query\": \"a\", \"choices\": [\"b\", \"c\"], \"gold\": 2}",
          "q.jsonl:1: \"gold\" is 2, but the answers are 0 to 1" },
        { "multiple_choice", "{\"query\": \"a\", \"choices\": [\"b\"], \"gold\": 0}",
          "q.jsonl:1: the object has no array \"choices\" of at least two strings" },
        { "schema", "{\"context_options\": [\"a\", 1], \"continuation\": \"b\", \"gold\": 0}",
          "q.jsonl:1: context_options[1] is no string" },
        { "schema", "", "q.jsonl: 0 questions are too few" },
        { "multiple_choice",
          "{\"query\": \"a\", \"choices\": [\"abcdefghijklmnopqrstuvwxyz"
          "abcdefghijklmnopqrstuvwxyzabcdefghijkl\", \"b\"], \"gold\": 0}",
          "q.jsonl: question 0: an answer of 64 tokens does not fit the model's 64 positions" },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        cr_expect_eq(run_task(all[i].kind, "", all[i].question), -1, "row %zu", i);
        expect_error(all[i].error);
    }
}
