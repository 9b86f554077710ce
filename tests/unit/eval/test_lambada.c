/* The last word of passages. The model of tests/data/successor expects each letter after the one
 * before it in the alphabet, but not a blank. */
#include "eval/lambada.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>

#include "eval/evaluate_commands.h"
#include "tests/unit/command.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"

TestSuite(lambada, .init = make_dir, .fini = remove_dir);

static int run_lines(const char *lines)
{
    SCOPED(buf) line = buf_format("--model tests/data/successor %s", in_dir("x"));
    put_text("x", lines);
    return run_command(&lmbd_command, line.data);
}

Test(lambada, a_passage_needs_a_context)
{
    static const char *const lines[] = {
        "\npassages=3\n", "\nskipped=2\n",     "\nright=0\n",
        "\naccuracy=0\n", "\ntoken_right=1\n", "\ntokens_per_word=2.66667\n", /* blanks, too */
    };
    char text[1000];
    cr_redirect_stdout();
    cr_assert_eq(run_lines("{\"text\": \" ab cd \"}\n"
                           "{\"text\": \" xyz\\n\"}\n" /* a single word */
                           "{\"text\": \"ab.ab cx\"}\n"
                           "{\"text\": \"\"}\n"
                           "{\"text\": \"de f\"}\n"),
                 0, "%s", err_get());
    fflush(stdout);
    text[fread(text, 1, sizeof text - 1, cr_get_redirected_stdout())] = 0;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        cr_expect(strstr(text, lines[i]), "no '%s' in %s", lines[i], text);
    cr_expect_eq(run_lines("{\"text\": \"a b\"}\n{\"txt\": \"a b\"}\n"), -1);
    expect_error("x:2: the object has no string \"text\"");
    cr_expect_eq(run_lines("{\"text\": \"ab\"}\n"), -1);
    expect_error("nothing to score in '");
}
