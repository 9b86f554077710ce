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

/* Scores predictions for the questions "a=x|y,b,...": one with the id a and the answers "x" and
 * "y", one with the id b and no answer. v2 1: by the rules of 2.0. no_answer: the probabilities
 * that there is no answer; NULL: none. Returns what squad_score returns. */
static int score(struct squad_score *got, const char *questions, int v2, const char *predictions,
                 const char *no_answer)
{
    struct js *texts = json(predictions), *probabilities = no_answer ? json(no_answer) : NULL;
    SCOPED(buf) b = buf_format("{\"data\":[{\"paragraphs\":[{\"context\":\"x y\",\"qas\":[");
    for (const char *q = questions; *q; q += *q == ',') {
        buf_addf(&b, "%s{\"id\":\"%c\",\"question\":\"?\",\"answers\":[", q > questions ? "," : "",
                 *q);
        for (q++; *q == '=' || *q == '|';) {
            const size_t n = strcspn(q + 1, "|,");
            buf_addf(&b, "%s{\"text\":\"%.*s\",\"answer_start\":0}", *q == '|' ? "," : "", (int)n,
                     q + 1);
            q += n + 1;
        }
        buf_adds(&b, "]}");
    }
    buf_adds(&b, "]}]}]}");
    cr_assert_eq(parse(b.data), 0, "%s", err_get());
    const int result = squad_score(got, &squad, v2, texts, "p", probabilities, 0.5);
    squad_release(&squad);
    js_free(texts);
    js_free(probabilities);
    return result;
}

static void score_four(struct squad_score *s, const char *predictions, const char *no_answer)
{
    cr_assert_eq(score(s, "a=x,b=x,c,d", 1, predictions, no_answer), 0, "%s", err_get());
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

/* Of equal probabilities, the order in the file counts, as in the published script. */
Test(squad, the_best_threshold_of_equal_probabilities)
{
    struct squad_score s;
    const char *texts = "{\"a\":\"x\",\"b\":\"x\",\"c\":\"y\",\"d\":\"y\"}";
    score_four(&s, texts, "{\"d\":0.5,\"a\":0.5,\"b\":0.6,\"c\":0.6}");
    expect_best(s.best_exact, 75, 0.6); /* d is wrong, a makes up for it */
    score_four(&s, texts, "{\"a\":0.5,\"d\":0.5,\"c\":0.6,\"b\":0.6}");
    expect_best(s.best_exact, 75, 0.5);
    /* A probability of 0.5 is not above the threshold: a and d speak, b and c are silent. */
    cr_expect(s.has_answer.exact == 50 && s.no_answer.exact == 50 && s.all.f1 == 50);
}

Test(squad, the_best_threshold_by_f1)
{
    struct squad_score s;
    score_four(&s, "{\"a\":\"x y\",\"b\":\"x\",\"c\":\"\",\"d\":\"y\"}",
               "{\"a\":0.1,\"b\":0.2,\"c\":0.3,\"d\":0.4}");
    expect_best(s.best_exact, 75, 0.2);
    expect_best(s.best_f1, 100 * (3 + 2.0 / 3) / 4, 0.2);
}

/* By the rules of 1.1 each question counts, also one without prediction or with an id again. */
Test(squad, scores_by_the_rules_of_1_1)
{
    struct squad_score s;
    cr_assert_eq(score(&s, "a=blue river,a=red|blue sea,b=x", 0,
                       "{\"a\":\"The blue river!\",\"z\":\"?\"}", NULL),
                 0, "%s", err_get());
    cr_expect(s.all.total == 3 && s.missing == 1 && s.unknown == 1);
    cr_expect_float_eq(s.all.exact, 100.0 / 3, 1e-12);
    cr_expect_float_eq(s.all.f1, 50, 1e-12); /* 1, a half and 0 */
    cr_expect_float_eq(s.all.f1_error, 100 * sqrt(0.25 / 3), 1e-12);
    cr_expect(s.has_answer.total == 3 && s.no_answer.total == 0 && s.no_answer.f1 == 0);
    cr_assert_eq(score(&s, "a=x,a=x", 0, "{}", NULL), 0, "%s", err_get());
    cr_expect(s.missing == 2 && s.all.total == 2 && s.all.exact == 0);
}

/* By the rules of 2.0, questions without prediction do not count, the last of an id does, and an
 * answer without words is none. */
Test(squad, scores_by_the_rules_of_2_0)
{
    struct squad_score s;
    cr_assert_eq(score(&s, "a=x,a=y,b=the|z,c,d=the", 1, "{\"a\":\"y\",\"b\":\"\",\"d\":\"\"}",
                       "{\"a\":0.1,\"b\":0.2,\"d\":0.3}"),
                 0, "%s", err_get());
    cr_expect(s.all.total == 3 && s.has_answer.total == 3 && s.no_answer.total == 0);
    cr_expect(s.missing == 1 && s.unknown == 0);
    cr_expect_float_eq(s.all.exact, 200.0 / 3, 1e-12); /* a and d */
    cr_expect_float_eq(s.all.f1, 200.0 / 3, 1e-12);
    expect_best(s.best_exact, 100, 0.3); /* a and d, and c, which has no answer */
}

Test(squad, predictions_that_cannot_be_scored)
{
    static const struct {
        const char *questions;
        int v2;
        const char *predictions, *no_answer, *error;
    } cases[] = {
        { "a", 1, "[]", NULL, "p: not a JSON object of answers by question id" },
        { "", 1, "{}", NULL, "nothing to score: the data has no questions" },
        { "a=x,b", 0, "{}", NULL,
          "question 'b' has no answer: if this is SQuAD 2.0, give --rules 2.0" },
        { "a", 1, "{\"b\":\"x\"}", NULL,
          "p: nothing to score: no prediction is for a question of the data" },
        { "a", 1, "{\"a\":1}", NULL, "p: the prediction for question 'a' is not a string" },
        { "a", 1, "{\"a\":\"\"}", "{\"a\":\"0\"}", "--na-prob has no number for question 'a'" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct squad_score s;
        cr_expect_eq(
            score(&s, cases[i].questions, cases[i].v2, cases[i].predictions, cases[i].no_answer),
            -1, "%zu", i);
        cr_expect_str_eq(err_get(), cases[i].error);
    }
}
