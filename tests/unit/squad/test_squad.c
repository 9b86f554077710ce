#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "common/base/err.h"
#include "eval/squad_metric.h"
#include "squad/squad.h"
#include "unicode/letter_case.h"

static struct squad squad;

static int parse(const char *text)
{
    return squad_parse(&squad, text, strlen(text), "s.json");
}

/* Parses a data set of one paragraph with this context, and one question with these answers. */
static void parse_answers(const char *context, const char *answers)
{
    struct buf b = BUF_INIT;
    buf_addf(
        &b,
        "{\"data\":[{\"paragraphs\":[{\"context\":\"%s\",\"qas\":[{\"id\":\"q\",\"question\":\"?\","
        "\"answers\":[%s]}]}]}]}",
        context, answers);
    cr_assert_eq(parse(b.data), 0, "%s", err_get());
    buf_release(&b);
}

static void expect_answer(size_t i, enum squad_fit fit, uint32_t begin, uint32_t end)
{
    const struct squad_answer *a = &squad.answers[i];
    cr_expect_eq(a->fit, fit, "answer %zu: fit %d, not %d", i, a->fit, fit);
    cr_expect_eq(a->begin, begin, "answer %zu: from %u, not %u", i, a->begin, begin);
    cr_expect_eq(a->end, end, "answer %zu: to %u, not %u", i, a->end, end);
}

Test(squad, places_in_code_points)
{
    parse_answers("\xC3\xA9t\xC3\xA9 \xF0\x9D\x84\x9E x",
                  "{\"text\":\"x\",\"answer_start\":6},"
                  "{\"text\":\"\xC3\xA9t\xC3\xA9\",\"answer_start\":0}");
    expect_answer(0, SQUAD_IN_PLACE, 6, 7);
    expect_answer(1, SQUAD_IN_PLACE, 0, 3);
    squad_release(&squad);
}

Test(squad, places_in_other_units)
{
    parse_answers("\xF0\x9D\x84\x9E\xC3\xA9 river", "{\"text\":\"river\",\"answer_start\":4},"
                                                    "{\"text\":\"river\",\"answer_start\":7}");
    expect_answer(0, SQUAD_UTF16, 3, 8);
    expect_answer(1, SQUAD_BYTES, 3, 8);
    squad_release(&squad);
}

Test(squad, places_that_are_wrong)
{
    parse_answers("ab ab ab",
                  "{\"text\":\"ab\",\"answer_start\":5},{\"text\":\"ab\",\"answer_start\":1},"
                  "{\"text\":\"ab\",\"answer_start\":900},{\"text\":\"ab\"},"
                  "{\"text\":\"ba\",\"answer_start\":0},{\"text\":\"\",\"answer_start\":0},"
                  "{\"text\":\"ab\",\"answer_start\":-7}");
    expect_answer(0, SQUAD_MOVED, 6, 8);
    expect_answer(1, SQUAD_MOVED, 0, 2);
    expect_answer(2, SQUAD_MOVED, 6, 8);
    expect_answer(3, SQUAD_MOVED, 0, 2);
    expect_answer(4, SQUAD_NOWHERE, 0, 0);
    expect_answer(5, SQUAD_NOWHERE, 0, 0);
    expect_answer(6, SQUAD_MOVED, 0, 2);
    cr_expect_eq(squad.fits[SQUAD_MOVED], 5);
    cr_expect_eq(squad.fits[SQUAD_NOWHERE], 2);
    squad_release(&squad);
}

Test(squad, counts_what_is_odd)
{
    cr_assert_eq(
        parse(
            "{\"data\":[{\"paragraphs\":[{\"context\":\"\",\"qas\":["
            "{\"id\":\"b\",\"question\":\"\",\"is_impossible\":true},{\"id\":\"a\",\"question\":\"\"},"
            "{\"id\":\"b\",\"question\":\"\"},{\"id\":\"b\",\"question\":\"\"}]}]},"
            "{\"paragraphs\":[{\"context\":\"c\",\"qas\":[]}]}]}"),
        0, "%s", err_get());
    cr_expect_eq(squad.paragraph_count, 2);
    cr_expect_eq(squad.empty_paragraphs, 2);
    cr_expect_eq(squad.repeated_ids, 2);
    cr_expect_eq(squad.unanswerable, 4);
    cr_expect(squad.marks_impossible);
    const size_t same[] = { 0, 1, 0, 0 };
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(squad.questions[i].same_id, same[i]);
    squad_release(&squad);
}

Test(squad, ids_that_are_numbers)
{
    cr_assert_eq(parse("{\"data\":[{\"paragraphs\":[{\"context\":\"c\",\"qas\":["
                       "{\"id\":51870,\"question\":\"\"},{\"id\":\"51870\",\"question\":\"\"},"
                       "{\"id\":-7,\"question\":\"\"}]}]}]}"),
                 0, "%s", err_get());
    cr_expect_str_eq(squad.questions[0].id, "51870");
    cr_expect_str_eq(squad.questions[2].id, "-7");
    cr_expect_eq(squad.repeated_ids, 1);
    squad_release(&squad);
}

Test(squad, errors_name_the_place)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "{\"data\":[{}]}", "s.json: data[0]: no array \"paragraphs\"" },
        { "{\"data\":[{\"paragraphs\":[{}]}]}",
          "s.json: data[0].paragraphs[0]: no string \"context\"" },
        { "{\"data\":[{\"paragraphs\":[{\"context\":\"\",\"qas\":[3]}]}]}",
          "s.json: data[0].paragraphs[0].qas[0]: no string \"id\"" },
        { "{\"data\":[{\"paragraphs\":[{\"context\":\"\",\"qas\":[{\"id\":\"q\",\"question\":\"\",\"answers\":{}}]}]}]}",
          "s.json: data[0].paragraphs[0].qas[0]: no array \"answers\"" },
        { "{\"data\":[{\"paragraphs\":[{\"context\":\"\",\"qas\":[{\"id\":\"q\\u0000\",\"question\":\"\"}]}]}]}",
          "s.json: data[0].paragraphs[0].qas[0]: \"id\" holds U+0000" },
        { "{\"data\":[{\"paragraphs\":[{\"context\":\"\",\"qas\":[{\"id\":\"q\",\"question\":\"\",\"answers\":"
          "[{\"text\":\"\",\"answer_start\":\"0\"}]}]}]}]}",
          "s.json: data[0].paragraphs[0].qas[0].answers[0]: \"answer_start\" is no integer" },
        { "[]", "s.json: not a SQuAD file: it has no array \"data\"" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(parse(cases[i].text), -1);
        cr_expect_str_eq(err_get(), cases[i].error);
    }
}

static void expect_lower(const char *text, const char *want)
{
    struct buf b = BUF_INIT;
    letter_case_put(&b, text, strlen(text), letter_case_lower);
    cr_expect_str_eq(b.data, want);
    buf_release(&b);
}

Test(squad, lower_case)
{
    expect_lower("ABC z \xC3\x84\xC3\x9F \xE1\xBA\x9E", "abc z \xC3\xA4\xC3\x9F \xC3\x9F");
    expect_lower("\xC4\xB0", "i\xCC\x87");
    expect_lower("\xCE\x91\xCE\xA3", "\xCE\xB1\xCF\x82");                 /* final after a letter */
    expect_lower("\xCE\x91\xCE\xA3\xCE\x91", "\xCE\xB1\xCF\x83\xCE\xB1"); /* not before one */
    expect_lower("\xCE\xA3", "\xCF\x83");                                 /* not alone */
    expect_lower("\xCE\x91.\xCE\xA3'", "\xCE\xB1.\xCF\x82'");             /* '.' is passed over */
    expect_lower("\xCE\x91 \xCE\xA3", "\xCE\xB1 \xCF\x83");
    expect_lower("\xF0\x90\x90\x80", "\xF0\x90\x90\xA8");
}

static void expect_normal(const char *text, const char *want)
{
    struct buf b = BUF_INIT;
    squad_normalise(&b, text, strlen(text));
    cr_expect_str_eq(b.data, want);
    buf_release(&b);
}

Test(squad, normalised)
{
    expect_normal("The  U.S. is a-n\tisland, an ANT!", "us is island ant");
    expect_normal("a the an", "");
    expect_normal("theory of a", "theory of");
    expect_normal("x\xE2\x80\x94the\xE2\x80\x94y",
                  "x\xE2\x80\x94 \xE2\x80\x94y"); /* a dash is no letter */
    expect_normal("a\xCC\x81", "\xCC\x81");       /* nor is an accent */
    expect_normal("the_end", "theend");
    expect_normal("\xC2\xA0"
                  "1\xE3\x80\x80"
                  "2 ",
                  "1 2");
}

Test(squad, f1_of_multisets)
{
    const struct {
        const char *gold, *text;
        double f1;
    } cases[] = { { "b b c", "b c c", 2. / 3 },
                  { "b", "c", 0 },
                  { "", "", 0 },
                  { "b c", "c b", 1 },
                  { "b", "b c d", .5 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_float_eq(
            squad_f1(cases[i].gold, strlen(cases[i].gold), cases[i].text, strlen(cases[i].text)),
            cases[i].f1, 1e-15);
}

/* ---- scores ---------------------------------------------------------------------------------- */

static struct js *json(const char *text)
{
    struct js *j = js_parse(text, strlen(text), "j");
    cr_assert_not_null(j, "%s", err_get());
    return j;
}

/* Scores predictions for four questions, a to d; a and b have the answer "x". no_answer:
 * the probabilities that there is no answer. */
static void score_four(struct squad_score *score, const char *predictions, const char *no_answer)
{
    struct js *texts = json(predictions), *probabilities = json(no_answer);
    cr_assert_eq(parse("{\"data\":[{\"paragraphs\":[{\"context\":\"x y\",\"qas\":["
                       "{\"id\":\"a\",\"question\":\"?\",\"answers\":[{\"text\":\"x\","
                       "\"answer_start\":0}]},"
                       "{\"id\":\"b\",\"question\":\"?\",\"answers\":[{\"text\":\"x\","
                       "\"answer_start\":0}]},"
                       "{\"id\":\"c\",\"question\":\"?\",\"answers\":[]},"
                       "{\"id\":\"d\",\"question\":\"?\",\"answers\":[]}]}]}]}"),
                 0, "%s", err_get());
    cr_assert_eq(squad_score(score, &squad, 1, texts, "p", probabilities, 0.5), 0, "%s", err_get());
    squad_release(&squad);
    js_free(texts);
    js_free(probabilities);
}

static void expect_best(struct squad_threshold is, double score, double threshold)
{
    cr_expect_float_eq(is.score, score, 1e-12, "%g, not %g", is.score, score);
    cr_expect_float_eq(is.threshold, threshold, 1e-12, "%g, not %g", is.threshold, threshold);
}

Test(squad, the_best_threshold_is_the_lowest_of_equals)
{
    struct squad_score s;
    /* From the surest on: a is right, b is not, c stays silent, d speaks. */
    score_four(&s, "{\"a\":\"x\",\"b\":\"y\",\"c\":\"\",\"d\":\"y\"}",
               "{\"a\":0.1,\"b\":0.2,\"c\":0.3,\"d\":0.4}");
    cr_expect(s.all.total == 4 && s.has_answer.total == 2 && s.no_answer.total == 2);
    cr_expect_float_eq(s.all.exact, 50, 1e-12); /* a and c */
    cr_expect_float_eq(s.all.exact_error, 100 * sqrt(1.0 / 3) / 2, 1e-12);
    expect_best(s.best_exact, 75, 0.1); /* a, c and d */
    /* None of them gains anything over silence. */
    score_four(&s, "{\"a\":\"y\",\"b\":\"y\",\"c\":\"\",\"d\":\"y\"}",
               "{\"a\":0.1,\"b\":0.2,\"c\":0.3,\"d\":0.4}");
    expect_best(s.best_exact, 50, 0);
    expect_best(s.best_f1, 50, 0);
}
