#include <criterion/criterion.h>
#include <string.h>

#include "common/base/err.h"
#include "eval/choices.h"

static struct choices_question q;

static int parse(enum choices_form *form, const char *line)
{
    return choices_parse(&q, form, line, strlen(line), "f.jsonl:3");
}

/* Parses a line, which must have the form `form`, the right option number `right`, and `count`
 * options, each written as "context|ending". */
static void expect(const char *line, enum choices_form form, size_t right, size_t count,
                   const char *const *options)
{
    enum choices_form found = CHOICES_AUTO;
    cr_assert_eq(parse(&found, line), 0, "%s", err_get());
    cr_expect_eq(found, form);
    cr_expect_eq(q.right, right);
    cr_assert_eq(q.count, count);
    for (size_t i = 0; i < count; i++) {
        struct buf got = BUF_INIT;
        buf_addf(&got, "%s|%s", q.options[i].context.data, q.options[i].ending.data);
        cr_expect_str_eq(got.data, options[i]);
        buf_release(&got);
    }
    choices_release(&q);
}

Test(choices, plain)
{
    static const char *const options[] = { "Is it?| yes", "Is it?| no", "Is it?| \u00e9" };
    expect("{\"context\": \"Is it?\", \"choices\": [\"yes\", \"no\", \"\u00e9\"], \"label\": 2}",
           CHOICES_PLAIN, 2, 3, options);
}

/* In ctx_b the first letter becomes upper case and the others lower case, with a final sigma at the
 * end of a word. Markers of WikiHow such as [title] are removed. */
Test(choices, hellaswag)
{
    static const char *const options[] = { "Act: To a b..  [no\nend Σας x y| one. Two",
                                           "Act: To a b..  [no\nend Σας x y| three" };
    expect("{\"activity_label\": \" Act\", \"ctx_a\": \"To [sub]a [q] b. [title]  [no\\nend\", "
           "\"ctx_b\": \"σΑΣ  X [substeps]Y\", \"endings\": [\"one [title]Two\", \" three \"], "
           "\"label\": \"1\"}",
           CHOICES_HELLASWAG, 1, 2, options);
}

Test(choices, piqa)
{
    static const char *const options[] = { "Question: Go\nAnswer:| a", "Question: Go\nAnswer:| b" };
    expect("{\"goal\": \"Go\", \"sol1\": \"a\", \"sol2\": \"b\", \"label\": 0}", CHOICES_PIQA, 0, 2,
           options);
}

Test(choices, arc)
{
    static const char *const options[] = { "Question: Why\nAnswer:| a",
                                           "Question: Why\nAnswer:| b" };
    expect("{\"id\": \"x\", \"question\": \"Why\", \"choices\": {\"text\": [\"a\", \"b\"], "
           "\"label\": [\"A\", \"B\"]}, \"answerKey\": \"B\"}",
           CHOICES_ARC, 1, 2, options);
}

Test(choices, winogrande)
{
    static const char *const options[] = { "The Ann| was_ late.", "The Bo| was_ late." };
    expect("{\"sentence\": \"The _  was_ late. \", \"option1\": \"Ann\", \"option2\": \"Bo\", "
           "\"answer\": \"2\"}",
           CHOICES_WINOGRANDE, 1, 2, options);
}

/* Each line has one fault. The error must name the line and the key. */
Test(choices, refused)
{
    static const struct {
        const char *line, *what;
    } bad[] = {
        { "{", "bad JSON" },
        { "[1]", "f.jsonl:3: unknown question format: expected one of the keys context" },
        { "{\"x\": 1}", "f.jsonl:3: unknown question format: expected one of the keys context" },
        /* CommonsenseQA, whose prompt is not ARC's */
        { "{\"id\": \"1\", \"question\": \"a\", \"question_concept\": \"b\", \"choices\": {\"label\": "
          "[\"A\", \"B\"], \"text\": [\"c\", \"d\"]}, \"answerKey\": \"A\"}",
          "f.jsonl:3: unknown question format: it has the key question_concept, but the keys of arc "
          "are answerKey, question, choices, id" },
        { "{\"context\": 1}", "no string \"context\"" },
        { "{\"context\": \"a\", \"choices\": [\"b\"], \"label\": 0}", "\"choices\" is no array" },
        { "{\"context\": \"a\", \"choices\": {\"0\": \"b\", \"1\": \"c\"}}",
          "\"choices\" is no array" },
        { "{\"context\": \"a\", \"choices\": [\"b\", 1], \"label\": 0}",
          "choices[1] is no string" },
        { "{\"context\": \"a\", \"choices\": [\"b\", \"\"], \"label\": 0}", "choice 1 is empty" },
        { "{\"context\": \"a\", \"choices\": [\"b\", \"c\"]}", "\"label\" is no number" },
        { "{\"context\": \"a\", \"choices\": [\"b\", \"c\"], \"label\": \"\"}",
          "\"label\" is no number" },
        { "{\"context\": \"a\", \"choices\": [\"b\", \"c\"], \"label\": 1.5}",
          "\"label\" is no number" },
        { "{\"context\": \"a\", \"choices\": [\"b\", \"c\"], \"label\": 2}",
          "is 2, but the choices are 0 to 1" },
        { "{\"context\": \"a\", \"choices\": [\"b\", \"c\"], \"label\": -1}", "is -1" },
        { "{\"endings\": [\"b\", \"c\"], \"ctx_a\": \"\", \"ctx_b\": \"\"}", "\"activity_label\"" },
        { "{\"endings\": [\"b\", \"[x]\"], \"activity_label\": \"\", \"ctx_a\": \"\", \"ctx_b\": \"\", "
          "\"label\": 0}",
          "choice 1 is empty" },
        { "{\"goal\": \"a\", \"sol1\": \"b\", \"label\": 0}", "\"sol2\"" },
        { "{\"question\": \"a\", \"choices\": {\"text\": [\"b\", \"c\"], \"label\": [\"A\"]}, "
          "\"answerKey\": \"A\"}",
          "differ in length" },
        { "{\"question\": \"a\", \"choices\": {\"text\": [\"b\", \"c\"], \"label\": [\"A\", \"B\"]}, "
          "\"answerKey\": \"C\"}",
          "\"answerKey\" is 'C'" },
        { "{\"sentence\": \"a b\", \"option1\": \"c\", \"option2\": \"d\", \"answer\": \"1\"}",
          "no '_'" },
        { "{\"sentence\": \"a _ \", \"option1\": \"c\", \"option2\": \"d\", \"answer\": \"1\"}",
          "nothing behind" },
        { "{\"sentence\": \"a _ b\", \"option1\": \"c\", \"option2\": \"d\", \"answer\": \"0\"}",
          "is 0, but the choices are 1 to 2" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        enum choices_form form = CHOICES_AUTO;
        cr_expect_eq(parse(&form, bad[i].line), -1, "%s", bad[i].line);
        cr_expect(strstr(err_get(), bad[i].what), "%s: %s", bad[i].line, err_get());
        cr_expect(!strncmp(err_get(), "f.jsonl:3: ", 11), "%s", err_get());
    }
    choices_release(&q);
}

/* The first line decides the form of the file. Later lines must have the keys of that form. */
Test(choices, one_form_a_file)
{
    enum choices_form form = CHOICES_AUTO;
    cr_expect_eq(parse(&form, "{\"goal\": \"a\", \"sol1\": \"b\", \"sol2\": \"c\", \"label\": 0}"),
                 0);
    cr_expect_eq(parse(&form, "{\"context\": \"a\", \"choices\": [\"b\", \"c\"], \"label\": 0}"),
                 -1);
    cr_expect(strstr(err_get(), "no string \"goal\""), "%s", err_get());
    choices_release(&q);
}
