/* What `textclean dedup` finds again. */
#include "common/base/log.h"
#include "tests/unit/command.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "textclean/commands.h"

TestSuite(dedup, .init = make_dir, .fini = remove_dir);

/* Expects the texts that stay, and those that are left out, with the reason. */
static void expect_left(const char *by, const char *input, const char *out, const char *rejected)
{
    SCOPED(buf) line = buf_format("--by %s -o %s", by, in_dir("out"));
    buf_addf(&line, " --rejected %s %s", in_dir("rejected"), in_dir("in"));
    log_level = -1;
    tool_threads = 2;
    tool_force = 1;
    put_text("in", input);
    cr_assert_eq(run_command(&dedup_command, line.data), 0, "%s", err_get());
    expect_contents(in_dir("out"), out);
    expect_contents(in_dir("rejected"), rejected);
}

#define LINE(text)           "{\"text\": \"" text "\"}\n"
#define MARKED(text, reason) "{\"text\": \"" text "\", \"textclean\": \"" reason "\"}\n"

/* Sentences of 17 words. */
#define WORDS(x) x " b c d e f g h i j k l m n o p quit. "
#define A        WORDS("Ant")
#define B        WORDS("Bee")
#define C        WORDS("Cow")
#define D        WORDS("Dog")
#define LONG     WORDS("All b c d e f g h i j k l m n o p q r")
#define X        WORDS("Fox")
#define Y        WORDS("Gnu")
#define Z        WORDS("Hen")

Test(dedup, a_span_is_three_sentences)
{
    static const char *const cases[][3] = {
        /* two sentences that occurred before are no span, nor are three in another order */
        { LINE(A B C D) LINE(A B X Y) LINE(X C B A), LINE(A B C D) LINE(A B X Y) LINE(X C B A),
          "" },
        { LINE(A B C D) LINE(X A B C Y Z), LINE(A B C D) LINE(X Y Z), "" },
        { LINE(A B C D) LINE("a.") LINE("a. b!") LINE("a."),
          LINE(A B C D) LINE("a.") LINE("a. b!") LINE("a."), "" },
        /* less than three sentences, or than 50 words, is too short */
        { LINE(A B C D) LINE(LONG A B C LONG), LINE(A B C D),
          MARKED(LONG A B C LONG, "too-short") },
        { LINE(A B C D) LINE(X A B C Y "Yes it is."), LINE(A B C D),
          MARKED(X A B C Y "Yes it is.", "too-short") },
        { LINE(A B C D) LINE(A B C D), LINE(A B C D), MARKED(A B C D, "nothing-left") },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_left("span", cases[i][0], cases[i][1], cases[i][2]);
}

Test(dedup, white_space_makes_no_difference)
{
    expect_left("document", LINE("a b") LINE(" a\\n b ") LINE("ab") LINE("") LINE("\\t"),
                LINE("a b") LINE("ab") LINE(""),
                MARKED(" a\\n b ", "duplicate") MARKED("\\t", "duplicate"));
    expect_left("line", LINE("a\\nb\\n\\nc") LINE(" b \\nd\\na"), LINE("a\\nb\\n\\nc") LINE("d\\n"),
                "");
    expect_left("paragraph", LINE("a\\nb\\n\\nc") LINE("c\\n \\na\\n\\n a\\nb "),
                LINE("a\\nb\\n\\nc") LINE("a\\n\\n"), "");
}
