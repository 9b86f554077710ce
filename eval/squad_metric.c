#include "eval/squad_metric.h"

#include "common/base/order.h"
#include "common/base/utf8.h"
#include "common/files/nameset.h"
#include "eval/score.h"
#include "unicode/letter_case.h"
#include "unicode/unicode.h"
#include "unicode/whitespace.h"

/* ---- normalised texts ----------------------------------------------------------------------- */

static void remove_punctuation(struct buf *b)
{
    static const char marks[] = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
    size_t kept = 0;
    for (size_t i = 0; i < b->len; i++)
        if (!memchr(marks, b->data[i], sizeof marks - 1))
            b->data[kept++] = b->data[i];
    buf_truncate(b, kept);
}

/* Returns the length in bytes of the word at the beginning of s[0..n): letters and numbers ('_'
 * has been removed before). */
static size_t word_length(const char *s, size_t n)
{
    const uint8_t *classes = unicode_classes();
    size_t i = 0, len;
    for (; i < n; i += len) {
        enum unicode_class c = unicode_class(classes, utf8_get((const unsigned char *)s + i, &len));
        if (c != UNICODE_LETTER && c != UNICODE_NUMBER)
            break;
    }
    return i;
}

static int is_article(const char *s, size_t n)
{
    return bytes_are(s, n, "a") || bytes_are(s, n, "an") || bytes_are(s, n, "the");
}

void squad_normalise(struct buf *out, const char *s, size_t n)
{
    SCOPED(buf) lower = BUF_INIT;
    size_t start = out->len, len;
    int gap = 0; /* white space or an article since the last character */
    letter_case_put(&lower, s, n, letter_case_lower);
    remove_punctuation(&lower);
    for (size_t i = 0; i < lower.len; i += len) {
        const char *p = lower.data + i;
        size_t left = lower.len - i;
        if ((len = whitespace_at(p, left))) {
            gap = 1;
        } else if ((len = word_length(p, left)) && is_article(p, len)) {
            gap = 1;
        } else {
            if (!len)
                utf8_get((const unsigned char *)p, &len);
            if (gap && out->len > start)
                buf_addc(out, ' ');
            buf_add(out, p, len);
            gap = 0;
        }
    }
}

/* ---- F1 ------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    const struct span *p = a, *q = b;
    return order_bytes(p->s, p->n, q->s, q->n);
}

/* Returns the words of a normalised text, sorted, and sets *count to their number. The caller frees
 * the array. */
static struct span *sorted_words(const char *s, size_t n, size_t *count)
{
    struct span *words = NULL;
    size_t cap = 0;
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        const char *space = memchr(s + i, ' ', n - i);
        size_t len = space ? (size_t)(space - s) - i : n - i;
        mem_next(words, *count, cap) = (struct span){ s + i, len };
        i += len;
    }
    mem_sort(words, *count, by_text);
    return words;
}

double squad_f1(const char *gold, size_t gold_n, const char *text, size_t n)
{
    size_t g, t, same = 0, i = 0, j = 0;
    SCOPED_MEM struct span *gold_words = sorted_words(gold, gold_n, &g);
    SCOPED_MEM struct span *words = sorted_words(text, n, &t);
    while (i < g && j < t) {
        int order = by_text(&gold_words[i], &words[j]);
        same += !order;
        i += order <= 0;
        j += order >= 0;
    }
    if (!same)
        return 0;
    double precision = (double)same / (double)t, recall = (double)same / (double)g;
    return 2 * precision * recall / (precision + recall);
}

/* ---- one question --------------------------------------------------------------------------- */

struct raw {
    double exact, f1;
    int predicted, counts, answerable, empty; /* empty: the prediction is "" */
    double no_answer;
};

/* Compares two normalised texts, and raises r->exact and r->f1 to the scores of this pair if they
 * are higher. v2 1: the rules of SQuAD 2.0. */
static void compare(struct raw *r, const struct buf *gold, const struct buf *prediction, int v2)
{
    double exact = gold->len == prediction->len && !memcmp(gold->data, prediction->data, gold->len);
    double f1 = squad_f1(gold->data, gold->len, prediction->data, prediction->len);
    if (v2 && (!gold->len || !prediction->len))
        f1 = exact; /* "no answer" is right or wrong as a whole */
    if (exact > r->exact)
        r->exact = exact;
    if (f1 > r->f1)
        r->f1 = f1;
}

static void compare_all(struct raw *r, const struct squad *s, const struct squad_question *q,
                        const struct buf *prediction, int v2)
{
    SCOPED(buf) gold = BUF_INIT;
    size_t compared = 0;
    for (size_t i = 0; i < q->answers; i++) {
        struct span text = s->answers[q->answer + i].text;
        buf_clear(&gold);
        squad_normalise(&gold, text.s, text.n);
        if (v2 && !gold.len)
            continue;
        compare(r, &gold, prediction, v2);
        compared++;
    }
    buf_clear(&gold);
    if (v2 && !compared)
        compare(r, &gold, prediction, v2);
}

/* Sets *r to the scores of the prediction for question q, by the rules of SQuAD 2.0 if v2 is 1.
 * Without a prediction exact and f1 are 0. Returns 0, or -1 with an error if the prediction is not
 * a string. */
static int score_question(struct raw *r, const struct squad *s, const struct squad_question *q,
                          const struct js *predictions, const char *name, int v2)
{
    size_t n;
    const struct js *v = js_get(predictions, q->id);
    *r = (struct raw){ .answerable = q->answers > 0, .predicted = v != NULL, .counts = v || !v2 };
    if (!v)
        return 0;
    const char *text = js_text(v, &n);
    if (!text)
        return err_set("%s: the prediction for question '%s' is not a string", name, q->id);
    SCOPED(buf) prediction = BUF_INIT;
    squad_normalise(&prediction, text, n);
    r->empty = !n;
    compare_all(r, s, q, &prediction, v2);
    return 0;
}

static size_t count_unknown(const struct squad *s, const struct js *predictions)
{
    size_t known = 0;
    for (size_t i = 0; i < s->question_count; i++)
        known += s->questions[i].same_id == i && js_get(predictions, s->questions[i].id);
    return js_count(predictions) - known;
}

int squad_check_answered(const struct squad *s)
{
    for (size_t i = 0; i < s->question_count; i++)
        if (!s->questions[i].answers)
            return err_set("question '%s' has no answer: if this is SQuAD 2.0, give --rules 2.0",
                           s->questions[i].id);
    return 0;
}

/* ---- all questions -------------------------------------------------------------------------- */

enum which { ALL, HAS_ANSWER, NO_ANSWER };

/* Returns the means of a kind of questions in per cent, with their standard errors; zeros if there
 * are none. Questions with a no-answer probability above the threshold are taken as unanswered. */
static struct squad_figures figures(const struct raw *raw, size_t n, double threshold,
                                    enum which which)
{
    double exact_sum = 0, f1_sum = 0, f1_squares = 0;
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        const struct raw *r = &raw[i];
        if (!r->counts || (which != ALL && r->answerable != (which == HAS_ANSWER)))
            continue;
        const int silent = r->no_answer > threshold;
        const double exact = silent ? !r->answerable : r->exact;
        const double f1 = silent ? !r->answerable : r->f1;
        exact_sum += exact;
        f1_sum += f1;
        f1_squares += f1 * f1;
        total++;
    }
    if (!total)
        return (struct squad_figures){ 0 };
    return (struct squad_figures){
        .exact = 100 * exact_sum / (double)total,
        .f1 = 100 * f1_sum / (double)total,
        .exact_error = 100 * score_error(exact_sum, exact_sum, total), /* 0 and 1 are squares */
        .f1_error = 100 * score_error(f1_sum, f1_squares, total),
        .total = total,
    };
}

struct ranked {
    double no_answer;
    size_t position; /* place in the file of probabilities; breaks ties of the sort */
    const struct raw *raw;
};

static int by_probability(const void *a, const void *b)
{
    const struct ranked *p = a, *q = b;
    if (p->no_answer != q->no_answer)
        return p->no_answer > q->no_answer ? 1 : -1;
    return (p->position > q->position) - (p->position < q->position);
}

/* Returns the threshold with the best score, and this score in percent: F1 if f1 is 1, else exact
 * match. It starts with no question answered and then answers the questions in order of rising
 * no-answer probability. */
static struct squad_threshold best_threshold(const struct ranked *ranked, size_t n,
                                             size_t unanswerable, int f1)
{
    double score = (double)unanswerable;
    struct squad_threshold best = { score, 0 };
    for (size_t i = 0; i < n; i++) {
        const struct raw *r = ranked[i].raw;
        if (r->answerable)
            score += f1 ? r->f1 : r->exact;
        else
            score -= !r->empty;
        if (score > best.score)
            best = (struct squad_threshold){ score, ranked[i].no_answer };
    }
    best.score = 100 * best.score / (double)n;
    return best;
}

static void best_thresholds(struct squad_score *score, const struct squad *s, const struct raw *raw,
                            const struct js *no_answer)
{
    size_t n = 0, unanswerable = 0, len;
    SCOPED_MEM struct ranked *ranked = mem_alloc(s->question_count * sizeof *ranked);
    struct nameset *ids = nameset_new(0); /* in the order of the file */
    for (void *it = js_first(no_answer); it; it = js_next(no_answer, it)) {
        const char *id = js_key(it, &len);
        nameset_add(ids, id, len);
    }
    for (size_t i = 0; i < s->question_count; i++) {
        const struct squad_question *q = &s->questions[i];
        if (q->same_id != i)
            continue;
        unanswerable += !raw[i].answerable;
        if (!raw[i].predicted)
            continue;
        const long position = nameset_find(ids, q->id, strlen(q->id));
        ranked[n++] = (struct ranked){ raw[i].no_answer, (size_t)position, &raw[i] };
    }
    nameset_free(ids);
    qsort(ranked, n, sizeof *ranked, by_probability);
    score->best_exact = best_threshold(ranked, n, unanswerable, 0);
    score->best_f1 = best_threshold(ranked, n, unanswerable, 1);
}

/* Scores all questions. By the rules of 2.0, questions with the same id share the entry raw[] of
 * the first one, and the last one sets it. */
static int score_all(struct raw *raw, const struct squad *s, int v2, const struct js *predictions,
                     const char *name, const struct js *no_answer)
{
    for (size_t i = 0; i < s->question_count; i++) {
        const struct squad_question *q = &s->questions[i];
        struct raw *r = &raw[v2 ? q->same_id : i];
        if (score_question(r, s, q, predictions, name, v2) < 0)
            return -1;
        if (no_answer && r->predicted && js_real(js_get(no_answer, q->id), &r->no_answer) < 0)
            return err_set("--na-prob has no number for question '%s'", q->id);
    }
    return 0;
}

int squad_score(struct squad_score *score, const struct squad *s, int v2,
                const struct js *predictions, const char *name, const struct js *no_answer,
                double threshold)
{
    if (!js_is_object(predictions))
        return err_set("%s: not a JSON object of answers by question id", name);
    if (!s->question_count)
        return err_set("nothing to score: the data has no questions");
    if (!v2 && squad_check_answered(s) < 0)
        return -1;
    SCOPED_MEM struct raw *raw = mem_zalloc(s->question_count, sizeof *raw);
    *score = (struct squad_score){ .unknown = count_unknown(s, predictions) };
    int result = score_all(raw, s, v2, predictions, name, no_answer);
    for (size_t i = 0; i < s->question_count; i++)
        score->missing += (!v2 || s->questions[i].same_id == i) && !raw[i].predicted;
    threshold = v2 ? threshold : 0; /* by 1.1 no answer is left out: the probabilities are 0 */
    if (!result) {
        score->all = figures(raw, s->question_count, threshold, ALL);
        score->has_answer = figures(raw, s->question_count, threshold, HAS_ANSWER);
        score->no_answer = figures(raw, s->question_count, threshold, NO_ANSWER);
    }
    if (!result && !score->all.total)
        result = err_set("%s: nothing to score: no prediction is for a question of the data", name);
    if (!result && no_answer)
        best_thresholds(score, s, raw, no_answer);
    return result;
}
