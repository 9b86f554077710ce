#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/files/file.h"
#include "common/files/temp.h"
#include "common/formats/js.h"
#include "eval/squad_answers.h"
#include "tests/unit/look.h"
#include "tests/unit/set_path.h"

static void add(struct placed *t, uint32_t id, uint32_t begin, uint32_t end)
{
    ids_add(&t->ids, id);
    ids_add(&t->begins, begin);
    ids_add(&t->ends, end);
}

/* A tokenizer for tests: a token is a word between spaces, its id is its length, and its place is
 * given in code points. Returns 0. */
static int encode(void *none, struct span text, struct placed *out)
{
    (void)none;
    uint32_t point = 0, begin = 0;
    for (size_t i = 0; i <= text.n; i++) {
        if (i < text.n && ((unsigned char)text.s[i] & 0xC0) == 0x80)
            continue;
        if (i == text.n || text.s[i] == ' ') {
            if (point > begin)
                add(out, point - begin, begin, point);
            begin = point + 1;
        }
        point++;
    }
    return 0;
}

enum { LENGTH = 10, WINDOWS = 4 };
static struct squad squad;
static struct squad_windows windows;
static float starts[WINDOWS * LENGTH], ends[WINDOWS * LENGTH];
static struct squad_answers answers;
static struct js *predictions, *n_best, *null_odds;

/* Makes the windows of two questions of one word about `context`. The context begins at position 3
 * of a window, which has room for 6 tokens of it. google: use the rules of Google's code. */
static void prepare(const char *context, int google)
{
    struct buf b = BUF_INIT;
    buf_addf(&b,
             "{\"data\":[{\"paragraphs\":[{\"context\":\"%s\",\"qas\":["
             "{\"id\":\"q\",\"question\":\"?\"},{\"id\":\"q\",\"question\":\"?\"}]}]}]}",
             context);
    const struct squad_window_rules rules = {
        .google = google, .length = LENGTH, .stride = 2, .question_tokens = 2
    };
    cr_assert_eq(squad_parse(&squad, b.data, b.len, "s"), 0, "%s", err_get());
    cr_assert_eq(squad_windows_make(&windows, &squad, &rules, 0, encode, NULL), 0, "%s", err_get());
    buf_release(&b);
    for (int i = 0; i < WINDOWS * LENGTH; i++)
        starts[i] = ends[i] = -10;
}

static struct js *load(const char *dir, const char *name)
{
    struct buf path = BUF_INIT;
    set_path(&path, dir, name);
    struct js *v = look(path.data) ? js_load(path.data) : NULL;
    buf_release(&path);
    return v;
}

static void answer(struct squad_answer_rules rules)
{
    char dir[] = "/tmp/test-squad-XXXXXX";
    cr_assert(mkdtemp(dir));
    squad_answers_init(&answers, &rules);
    cr_assert_eq(squad_answers_add(&answers, &windows, 0, starts, ends), 0, "%s", err_get());
    cr_assert_eq(squad_answers_add(&answers, &windows, 1, starts, ends),
                 0); /* the same id: nothing */
    squad_answers_end(&answers);
    cr_assert_eq(squad_answers_open(&answers, dir), 0, "%s", err_get());
    cr_assert_eq(squad_answers_save(&answers), 0, "%s", err_get());
    predictions = load(dir, "predictions.json");
    n_best = load(dir, "nbest_predictions.json");
    null_odds = load(dir, "null_odds.json");
    cr_assert(predictions && n_best && js_count(predictions) == 1);
    temp_remove(dir);
}

static void release(void)
{
    js_free(predictions);
    js_free(n_best);
    js_free(null_odds);
    squad_answers_release(&answers);
    squad_windows_release(&windows);
    squad_release(&squad);
}

static const struct js *nth(size_t i)
{
    return js_at(js_get(n_best, "q"), i);
}

static double number(size_t i, const char *key)
{
    double value = NAN;
    js_real(js_get(nth(i), key), &value);
    return value;
}

static void expect_text(const struct js *v, const char *want)
{
    const char *text = js_text(v, NULL);
    cr_expect(text && !strcmp(text, want), "'%s', not '%s'", text, want);
}

Test(squad_answers, the_text_as_it_is_written)
{
    prepare("\xC3\x89ine  \xF0\x9D\x84\x9E na\xC3\xAFve Zeit hier da", 0);
    starts[4] = 3;
    ends[5] = 2;
    ends[3] = 9;   /* before the start */
    starts[1] = 8; /* in the question */
    answer((struct squad_answer_rules){ .n_best = 3, .max_tokens = 30 });
    expect_text(js_get(predictions, "q"), "\xF0\x9D\x84\x9E na\xC3\xAFve");
    cr_expect_null(null_odds);
    release();
}

Test(squad_answers, softmax_of_the_best)
{
    prepare("a b c", 0);
    starts[3] = 1;
    ends[3] = 2;
    ends[4] = 1;
    answer((struct squad_answer_rules){ .n_best = 2, .max_tokens = 30 });
    cr_expect_eq(js_count(js_get(n_best, "q")), 2);
    expect_text(js_get(nth(0), "text"), "a");
    expect_text(js_get(nth(1), "text"), "a b");
    cr_expect_float_eq(number(0, "probability"), 1 / (1 + exp(-1)), 1e-12);
    cr_expect_float_eq(number(1, "probability"), 1 / (1 + exp(1)), 1e-12);
    cr_expect(number(1, "start_logit") == 1 && number(1, "end_logit") == 1);
    release();
}

Test(squad_answers, at_most_so_long)
{
    prepare("a b c", 0);
    starts[3] = ends[5] = 5;
    ends[4] = 4;
    answer((struct squad_answer_rules){ .n_best = 5, .max_tokens = 2 });
    expect_text(js_get(predictions, "q"), "a b");
    release();
}

Test(squad_answers, only_the_best_of_each_kind)
{
    prepare("a b c", 0);
    starts[0] = ends[0] = 9; /* [CLS] takes the only place */
    starts[4] = ends[4] = 8;
    answer((struct squad_answer_rules){ .n_best = 1, .max_tokens = 30 });
    expect_text(js_get(predictions, "q"), "empty");
    cr_expect_eq(number(0, "start_logit"), 0);
    release();
}

Test(squad_answers, equal_logits)
{
    prepare("a b c d", 0);
    answer((struct squad_answer_rules){ .n_best = 20, .max_tokens = 1 });
    expect_text(js_get(predictions, "q"), "a");
    cr_expect_eq(js_count(js_get(n_best, "q")), 4);
    release();
}

Test(squad_answers, over_windows)
{
    prepare("a b c d e f g h", 0); /* tokens 0-5 and 4-7 */
    cr_assert_eq(windows.of_question[1], 2);
    starts[3] = ends[3] = 1;
    starts[LENGTH + 6] = ends[LENGTH + 6] = 2;
    answer((struct squad_answer_rules){ .n_best = 20, .max_tokens = 30 });
    expect_text(js_get(predictions, "q"), "h");
    expect_text(js_get(nth(1), "text"), "a");
    release();
}

Test(squad_answers, by_googles_custom)
{
    prepare("a b a d e f g h", 1); /* tokens 0-5 and 2-7 */
    cr_assert_eq(windows.of_question[1], 2);
    starts[LENGTH + 3] = ends[LENGTH + 3] = 9; /* token 2 has more context in the first window */
    starts[3] = ends[3] = 2;
    starts[5] = ends[5] = 1; /* a second "a" */
    answer((struct squad_answer_rules){ .n_best = 20, .max_tokens = 1 });
    expect_text(js_get(predictions, "q"), "a");
    cr_expect_eq(number(0, "start_logit"), 2);
    for (size_t i = 1; i < js_count(js_get(n_best, "q")); i++)
        cr_expect_str_neq(js_text(js_get(nth(i), "text"), NULL), "a");
    release();
}

static void answer_v2(double threshold, const char *want)
{
    prepare("a b c d e f g h", 0);
    starts[0] = ends[0] = 3; /* 6, but 4 in the second window */
    starts[LENGTH] = ends[LENGTH] = 2;
    starts[4] = 2;
    ends[4] = 1;
    answer((struct squad_answer_rules){
        .n_best = 20, .max_tokens = 30, .v2 = 1, .null_threshold = threshold });
    double odds = NAN;
    js_real(js_get(null_odds, "q"), &odds);
    cr_expect_eq(odds, 1);
    expect_text(js_get(predictions, "q"), want);
    expect_text(js_get(nth(0), "text"), "");
    expect_text(js_get(nth(1), "text"), "b");
    release();
}

Test(squad_answers, no_answer_above_the_threshold)
{
    answer_v2(0, "");
    answer_v2(1, "b");
}

Test(squad_answers, no_answer_stays_among_the_best)
{
    prepare("a b", 0);
    starts[0] = ends[0] = -50;
    answer((struct squad_answer_rules){ .n_best = 1, .max_tokens = 30, .v2 = 1 });
    cr_expect_eq(js_count(js_get(n_best, "q")), 2);
    expect_text(js_get(nth(1), "text"), "");
    release();
}

Test(squad_answers, empty_context)
{
    prepare("", 0);
    answer((struct squad_answer_rules){ .n_best = 20, .max_tokens = 30, .v2 = 1 });
    expect_text(js_get(predictions, "q"), "empty");
    release();
    prepare("", 0);
    starts[0] = 30;
    answer((struct squad_answer_rules){ .n_best = 20, .max_tokens = 30, .v2 = 1 });
    expect_text(js_get(predictions, "q"), "");
    release();
}

Test(squad_answers, logits_are_numbers)
{
    prepare("a b", 0);
    starts[9] = NAN; /* padding */
    answer((struct squad_answer_rules){ .n_best = 20, .max_tokens = 30 });
    ends[4] = INFINITY;
    cr_expect_eq(squad_answers_add(&answers, &windows, 0, starts, ends), -1);
    cr_expect_str_eq(
        err_get(),
        "question 'q': a logit is inf: the model's weights are damaged or its training diverged");
    release();
}
