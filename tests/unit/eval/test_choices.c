#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/choice.h"
#include "common/base/err.h"
#include "eval/choices.h"

static struct choices_question q;

static int parse(int *form, const char *line)
{
    return choices_parse(&q, form, line, strlen(line), "f.jsonl:3");
}

/* Parses a line, which must have the form `form`, the right option number `right`, and `count`
 * options, each written as "context|ending". */
static void expect(const char *line, const char *form, size_t right, size_t count,
                   const char *const *options)
{
    int found = CHOICES_AUTO;
    cr_assert_eq(parse(&found, line), 0, "%s", err_get());
    cr_expect_str_eq(choices_forms[found].name, form);
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
           "plain", 2, 3, options);
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
           "hellaswag", 1, 2, options);
}

Test(choices, piqa)
{
    static const char *const options[] = { "Question: Go\nAnswer:| a", "Question: Go\nAnswer:| b" };
    expect("{\"goal\": \"Go\", \"sol1\": \"a\", \"sol2\": \"b\", \"label\": 0}", "piqa", 0, 2,
           options);
}

Test(choices, arc)
{
    static const char *const options[] = { "Question: Why\nAnswer:| a",
                                           "Question: Why\nAnswer:| b" };
    expect("{\"id\": \"x\", \"question\": \"Why\", \"choices\": {\"text\": [\"a\", \"b\"], "
           "\"label\": [\"A\", \"B\"]}, \"answerKey\": \"B\"}",
           "arc", 1, 2, options);
}

Test(choices, winogrande)
{
    static const char *const options[] = { "The Ann| was_ late.", "The Bo| was_ late." };
    expect("{\"sentence\": \"The _  was_ late. \", \"option1\": \"Ann\", \"option2\": \"Bo\", "
           "\"answer\": \"2\"}",
           "winogrande", 1, 2, options);
}

Test(choices, mmlu)
{
    static const char *const options[] = { "a b\nA. c\nB. d\nC. e \nD. f\nAnswer:| A",
                                           "a b\nA. c\nB. d\nC. e \nD. f\nAnswer:| B",
                                           "a b\nA. c\nB. d\nC. e \nD. f\nAnswer:| C",
                                           "a b\nA. c\nB. d\nC. e \nD. f\nAnswer:| D" };
    static const char line[] = "{\"question\": \" a b\\n\", \"subject\": \"high_school_art\", "
                               "\"choices\": [\"c\", \"d\", \"e \", \"f\"], \"answer\": 3}";
    expect(line, "mmlu", 3, 4, options);
    int form = choice_find(CHOICES_FORM_WORDS, "mmlu", 4);
    cr_assert_eq(parse(&form, line), 0);
    cr_expect_str_eq(q.description.data,
                     "The following are multiple choice questions (with answers) about high school "
                     "art.\n\n");
    choices_release(&q);
}

Test(choices, boolq)
{
    static const char *const options[] = { "p\nQuestion: is it?\nAnswer:| no",
                                           "p\nQuestion: is it?\nAnswer:| yes" };
    expect("{\"question\": \"is it\", \"passage\": \"p\", \"idx\": 7, \"label\": 1}", "boolq", 1, 2,
           options);
    /* as in SuperGLUE's archive */
    expect("{\"question\": \"is it\", \"passage\": \"p\", \"idx\": 7, \"label\": true}", "boolq", 1,
           2, options);
    expect("{\"question\": \"is it\", \"passage\": \"p\", \"idx\": 7, \"label\": false}", "boolq",
           0, 2, options);
}

Test(choices, sciq)
{
    static const char *const options[] = { "s \nQuestion: q\nAnswer:| a",
                                           "s \nQuestion: q\nAnswer:| b",
                                           "s \nQuestion: q\nAnswer:| c",
                                           "s \nQuestion: q\nAnswer:| right" };
    expect("{\"question\": \"q\", \"distractor3\": \"c\", \"distractor1\": \"a\", \"distractor2\": "
           "\"b\", \"correct_answer\": \"right\", \"support\": \"\\n\u2003s \"}",
           "sciq", 3, 4, options);
}

Test(choices, openbookqa)
{
    static const char *const options[] = { "The sun| a", "The sun| b" };
    expect(
        "{\"id\": \"1\", \"question_stem\": \"The sun\", \"choices\": {\"text\": [\"a\", \"b\"], "
        "\"label\": [\"A\", \"B\"]}, \"answerKey\": \" B\"}",
        "openbookqa", 1, 2, options);
}

/* The first letter is lower case, whatever it is; the premise loses one character, not one byte. */
Test(choices, copa)
{
    static const char *const options[] = { "It fell therefore|  \u00e9l Ran",
                                           "It fell therefore|  b" };
    expect("{\"premise\": \" It fell\u3002 \", \"choice1\": \"\u00c9l Ran\", \"choice2\": \"b\", "
           "\"question\": \"effect\", \"idx\": 0, \"label\": 0}",
           "copa", 0, 2, options);
}

Test(choices, social_iqa)
{
    static const char *const options[] = { "Q: c q\nA:| 1", "Q: c q\nA:| 2", "Q: c q\nA:| 3" };
    expect("{\"context\": \"c\", \"question\": \"q\", \"answerA\": \"1\", \"answerB\": \"2\", "
           "\"answerC\": \"3\", \"label\": \"3\"}",
           "social_iqa", 2, 3, options);
}

/* It has all keys of ARC, too, but another prompt. */
Test(choices, commonsense_qa)
{
    static const char prompt[] = "Question: q\nA. a\nB. b\nC. c\nD. d\nE. e\nAnswer:";
    char text[5][64];
    const char *options[5];
    for (int i = 0; i < 5; i++) {
        snprintf(text[i], sizeof text[i], "%s| %c", prompt, 'A' + i);
        options[i] = text[i];
    }
    expect(
        "{\"id\": \"1\", \"question\": \" q\", \"question_concept\": \"x\", \"choices\": {\"label\": "
        "[\"A\", \"B\", \"C\", \"D\", \"E\"], \"text\": [\"a\", \"b\", \"c\", \"d\", \"e\"]}, "
        "\"answerKey\": \"E\"}",
        "commonsense_qa", 4, 5, options);
}

/* Each line has one fault. The error must name the line and the key. */
Test(choices, refused)
{
    static const struct {
        const char *line, *what;
    } bad[] = {
        { "{", "bad JSON" },
        { "[1]", "f.jsonl:3: a JSON array: jq -c '.[]' makes lines of it" },
        { "{\"x\": 1}", "f.jsonl:3: unknown question format: its keys 'x' are those of no form" },
        /* keys of several forms, and the answers of Google's BoolQ */
        { "{\"context\": 1}", "its keys 'context' are those of no form" },
        { "{\"question\": \"a\", \"choices\": [\"b\", \"c\"]}",
          "its keys 'question, choices' are" },
        { "{\"question\": \"a\", \"passage\": \"b\", \"answer\": true}",
          "its keys 'question, passage, answer' are those of no form" },
        /* MMLU-Redux, whose questions may have no right answer */
        { "{\"question\": \"a\", \"subject\": \"b\", \"choices\": [\"c\", \"d\", \"e\", \"f\"], "
          "\"answer\": 0, \"error_type\": \"ok\"}",
          "f.jsonl:3: unknown question format: it has the key 'error_type', but the keys of mmlu are "
          "question, subject, choices, answer: give --form mmlu" },
        { "{\"question\": \"a\", \"subject\": \"b\", \"choices\": [\"c\", \"d\"], \"answer\": 0}",
          "\"choices\" has 2 choices, but questions of the form mmlu have 4" },
        { "{\"question\": \"a\", \"subject\": \"b\", \"choices\": [\"c\", \"d\", \"e\", 1], "
          "\"answer\": 0}",
          "no string \"choices.3\"" },
        { "{\"question\": \"a\", \"subject\": \"b\", \"choices\": [\"c\", \"d\", \"e\", \"f\"], "
          "\"answer\": \"B\"}",
          "\"answer\" is no number of a choice" },
        { "{\"question\": \"a\", \"passage\": \"b\", \"label\": -1}",
          "\"label\" is -1, but the choices are 0 to 1" },
        { "{\"premise\": \"a.\", \"question\": \"why\", \"choice1\": \"b\", \"choice2\": \"c\", "
          "\"label\": 0}",
          "\"question\": is neither 'cause' nor 'effect'" },
        { "{\"premise\": \"a.\", \"question\": \"cause\", \"choice1\": \"b\", \"choice2\": \"\", "
          "\"label\": 0}",
          "\"choice2\": is empty" },
        { "{\"context\": \"a\", \"question\": \"b\", \"answerA\": \"c\", \"answerB\": \"d\", "
          "\"answerC\": \"e\", \"label\": \"0\"}",
          "\"label\" is 0, but the choices are 1 to 3" },
        { "{\"question\": \"a\", \"question_concept\": \"b\", \"choices\": {\"label\": [\"A\", \"B\"], "
          "\"text\": [\"c\", \"d\"]}, \"answerKey\": \"A\"}",
          "\"choices.text\" has 2 choices, but questions of the form commonsense_qa have 5" },
        { "{\"context\": \"a\", \"choices\": [\"b\"], \"label\": 0}", "\"choices\" is no array" },
        { "{\"context\": \"a\", \"choices\": {\"0\": \"b\", \"1\": \"c\"}}",
          "\"choices\" is no array" },
        { "{\"context\": \"a\", \"choices\": [\"b\", 1], \"label\": 0}",
          "choices[1] is no string" },
        { "{\"context\": \"a\", \"choices\": [\"b\", \"\"], \"label\": 0}", "choice 1 is empty" },
        { "{\"context\": \"a\", \"choices\": [\"b\", \"c\"]}", "the object has no \"label\"" },
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
        int form = CHOICES_AUTO;
        cr_expect_eq(parse(&form, bad[i].line), -1, "%s", bad[i].line);
        cr_expect(strstr(err_get(), bad[i].what), "%s: %s", bad[i].line, err_get());
        cr_expect(!strncmp(err_get(), "f.jsonl:3: ", 11), "%s", err_get());
    }
    choices_release(&q);
}

/* The first line decides the form of the file. Later lines must have the keys of that form. */
Test(choices, one_form_a_file)
{
    int form = CHOICES_AUTO;
    cr_expect_eq(parse(&form, "{\"goal\": \"a\", \"sol1\": \"b\", \"sol2\": \"c\", \"label\": 0}"),
                 0);
    cr_expect_eq(parse(&form, "{\"context\": \"a\", \"choices\": [\"b\", \"c\"], \"label\": 0}"),
                 -1);
    cr_expect(strstr(err_get(), "no string \"goal\""), "%s", err_get());
    choices_release(&q);
}
