#include "eval/squad_answers.h"

#include <math.h>

#include "common/base/order.h"
#include "common/base/utf8.h"
#include "common/formats/js.h"
#include "eval/report.h"

enum { NO_ANSWER = UINT32_MAX };

struct candidate {
    double start, end;    /* logits */
    uint32_t first, last; /* range of context tokens; first is NO_ANSWER for the candidate "" */
    size_t order;         /* order of creation; breaks ties of scores */
    struct span text;     /* a slice of the context: code points [from, to) */
    uint32_t from, to;
    double probability;
};

struct candidates {
    struct candidate *items;
    size_t count, cap;
    struct candidate none; /* the candidate "no answer" */
};

static void candidates_release(struct candidates *c)
{
    free(c->items);
}

static void add_candidate(struct candidates *c, struct candidate item)
{
    item.order = c->count;
    mem_next(c->items, c->count, c->cap) = item;
}

static int by_score(const void *a, const void *b)
{
    const struct candidate *p = a, *q = b;
    double x = p->start + p->end, y = q->start + q->end;
    return x != y ? (x < y ? 1 : -1) : (p->order > q->order) - (p->order < q->order);
}

/* ---- candidates of a window ----------------------------------------------------------------- */

static int check_logits(const float *x, uint32_t n, const char *id)
{
    for (uint32_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return err_set(
                "question '%s': a logit is %g: the model's weights are damaged or its training diverged",
                id, (double)x[i]);
    return 0;
}

static void add_window(struct candidates *c, const struct squad_answer_rules *rules,
                       const struct squad_windows *w, size_t window, const float *starts,
                       const float *ends)
{
    uint32_t offset = squad_window_offset(w, window), stop = offset + w->items[window].count;
    SCOPED_MEM struct order_rank *best = mem_alloc(2 * (size_t)rules->n_best * sizeof *best);
    struct order_rank *best_ends = best + rules->n_best;
    size_t s = order_top(best, rules->n_best, starts, stop + 1, 0);
    size_t e = order_top(best_ends, rules->n_best, ends, stop + 1, 0);
    for (size_t i = 0; i < s; i++) {
        uint32_t start = best[i].item, first = w->items[window].first + start - offset;
        if (start < offset || start >= stop ||
            (w->rules.google && !squad_window_counts(w, window, first)))
            continue;
        for (size_t j = 0; j < e; j++) {
            uint32_t end = best_ends[j].item;
            if (end >= start && end < stop && end - start < rules->max_tokens)
                add_candidate(c, (struct candidate){ .start = starts[start],
                                                     .end = ends[end],
                                                     .first = first,
                                                     .last = first + end - start });
        }
    }
}

/* ---- the best of all windows ---------------------------------------------------------------- */

static void slice(struct candidate *c, const struct squad_windows *w, size_t question)
{
    size_t paragraph = w->squad->questions[question].paragraph;
    const struct placed *tokens = &w->contexts[paragraph];
    struct span context = w->squad->paragraphs[paragraph];
    c->from = tokens->begins.data[c->first];
    c->to = tokens->ends.data[c->last];
    size_t at = utf8_offset(context.s, context.n, c->from);
    size_t n = c->to > c->from ? utf8_offset(context.s + at, context.n - at, c->to - c->from) : 0;
    c->text = (struct span){ context.s + at, n };
}

static int is_seen(const struct candidates *c, size_t kept, struct span text)
{
    for (size_t i = 0; i < kept; i++)
        if (c->items[i].text.n == text.n && !memcmp(c->items[i].text.s, text.s, text.n))
            return 1;
    return 0;
}

/* Inserts the answer "empty", with logits 0, before the other candidates. */
static void put_filler(struct candidates *c)
{
    add_candidate(c, c->none);
    memmove(c->items + 1, c->items, (c->count - 1) * sizeof *c->items);
    c->items[0] = (struct candidate){ .first = NO_ANSWER, .text = { "empty", 5 } };
}

static void softmax(struct candidates *c)
{
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < c->count; i++)
        top = fmax(top, c->items[i].start + c->items[i].end);
    for (size_t i = 0; i < c->count; i++)
        sum += exp(c->items[i].start + c->items[i].end - top);
    for (size_t i = 0; i < c->count; i++)
        c->items[i].probability = exp(c->items[i].start + c->items[i].end - top) / sum;
}

/* Sorts the candidates, keeps the n_best ones and sets their texts and probabilities. By the rules
 * of 2.0 "no answer" is always kept. */
static void keep_best(struct candidates *c, const struct squad_answer_rules *rules,
                      const struct squad_windows *w, size_t question)
{
    size_t kept = 0, texts = 0;
    int none = 0;
    mem_sort(c->items, c->count, by_score);
    for (size_t i = 0; i < c->count && kept < rules->n_best; i++) {
        struct candidate item = c->items[i];
        if (item.first != NO_ANSWER)
            slice(&item, w, question);
        if (w->rules.google && is_seen(c, kept, item.text))
            continue;
        none |= item.first == NO_ANSWER;
        texts += item.text.n > 0;
        c->items[kept++] = item;
    }
    c->count = kept;
    if (rules->v2 && !none && !(w->rules.google && is_seen(c, kept, c->none.text)))
        add_candidate(c, c->none);
    if (!texts)
        put_filler(c);
    softmax(c);
}

/* Adds to *c the candidates of a question, best first, from the logits of its windows
 * (squad_answers_add). Returns 0, or -1 with an error. */
static int find(struct candidates *c, const struct squad_answer_rules *rules,
                const struct squad_windows *w, size_t question, const float *starts,
                const float *ends)
{
    const char *id = w->squad->questions[question].id;
    uint32_t length = w->rules.length;
    c->none = (struct candidate){ .start = INFINITY, .first = NO_ANSWER, .text = { "", 0 } };
    for (size_t i = w->of_question[question]; i < w->of_question[question + 1]; i++) {
        uint32_t used = squad_window_offset(w, i) + w->items[i].count + 1;
        if (check_logits(starts, used, id) < 0 || check_logits(ends, used, id) < 0)
            return -1;
        add_window(c, rules, w, i, starts, ends);
        if ((double)starts[0] + ends[0] < c->none.start + c->none.end) {
            c->none.start = starts[0];
            c->none.end = ends[0];
        }
        starts += length;
        ends += length;
    }
    if (rules->v2)
        add_candidate(c, c->none);
    keep_best(c, rules, w, question);
    return 0;
}

/* Returns the first candidate with text. keep_best makes sure that there is one. */
static const struct candidate *best_text(const struct candidates *c)
{
    const struct candidate *best = c->items;
    while (!best->text.n)
        best++;
    return best;
}

static double null_odds(const struct candidates *c)
{
    const struct candidate *best = best_text(c);
    return c->none.start + c->none.end - best->start - best->end;
}

int squad_answers_best(struct squad_best *best, const struct squad_answer_rules *rules,
                       const struct squad_windows *w, size_t question, const float *starts,
                       const float *ends)
{
    SCOPED(candidates) c = { 0 };
    if (find(&c, rules, w, question, starts, ends) < 0)
        return -1;
    const struct candidate *item = best_text(&c);
    *best = (struct squad_best){ .null_odds = null_odds(&c) };
    if (item->first != NO_ANSWER && !(rules->v2 && best->null_odds > rules->null_threshold))
        *best = (struct squad_best){ item->text,        item->from,
                                     item->to,          item->start + item->end,
                                     item->probability, best->null_odds };
    return 0;
}

/* ---- the files ------------------------------------------------------------------------------ */

void squad_answers_init(struct squad_answers *a, const struct squad_answer_rules *rules)
{
    *a = (struct squad_answers){ *rules, BUF_INIT, BUF_INIT, BUF_INIT, { { 0 } } };
    buf_addc(&a->predictions, '{');
    buf_addc(&a->n_best, '{');
    buf_addc(&a->null_odds, '{');
}

void squad_answers_release(struct squad_answers *a)
{
    buf_release(&a->predictions);
    buf_release(&a->n_best);
    buf_release(&a->null_odds);
    for (int i = 0; i < 3; i++)
        output_abandon(&a->outs[i]);
}

static void put_key(struct buf *out, const char *id)
{
    buf_adds(out, out->len > 1 ? ",\n    " : "\n    ");
    js_quote(out, id, strlen(id));
    buf_adds(out, ": ");
}

static void put_number(struct buf *out, const char *key, double value)
{
    buf_addf(out, ", \"%s\": ", key);
    report_digits(out, value);
}

static void put_n_best(struct buf *out, const struct candidates *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct candidate *item = &c->items[i];
        buf_adds(out, i ? ",\n        {\"text\": " : "[\n        {\"text\": ");
        js_quote(out, item->text.s, item->text.n);
        put_number(out, "probability", item->probability);
        put_number(out, "start_logit", item->start);
        put_number(out, "end_logit", item->end);
        buf_addc(out, '}');
    }
    buf_adds(out, "\n    ]");
}

int squad_answers_add(struct squad_answers *a, const struct squad_windows *w, size_t question,
                      const float *starts, const float *ends)
{
    SCOPED(candidates) c = { 0 };
    const struct squad_question *q = &w->squad->questions[question];
    if (q->same_id != question)
        return 0;
    if (find(&c, &a->rules, w, question, starts, ends) < 0)
        return -1;
    const struct span best = best_text(&c)->text;
    const double odds = null_odds(&c);
    const int silent = a->rules.v2 && odds > a->rules.null_threshold;
    put_key(&a->predictions, q->id);
    js_quote(&a->predictions, best.s, silent ? 0 : best.n);
    put_key(&a->n_best, q->id);
    put_n_best(&a->n_best, &c);
    put_key(&a->null_odds, q->id);
    report_digits(&a->null_odds, odds);
    return 0;
}

void squad_answers_end(struct squad_answers *a)
{
    buf_adds(&a->predictions, "\n}\n");
    buf_adds(&a->n_best, "\n}\n");
    buf_adds(&a->null_odds, "\n}\n");
}

int squad_answers_open(struct squad_answers *a, const char *dir)
{
    static const char *const names[] = { "null_odds.json", "nbest_predictions.json",
                                         "predictions.json" };
    int result = file_mkdirs(dir);
    for (int i = !a->rules.v2; i < 3 && !result; i++) {
        SCOPED(buf) path = file_path(dir, names[i]);
        result = output_open(&a->outs[i], path.data);
    }
    return result;
}

int squad_answers_save(struct squad_answers *a)
{
    const struct buf *texts[] = { &a->null_odds, &a->n_best, &a->predictions };
    int first = !a->rules.v2, result = 0;
    for (int i = first; i < 3 && !result; i++)
        result = output_write(&a->outs[i], texts[i]->data, texts[i]->len);
    return output_end_all(a->outs + first, 3 - (size_t)first, result);
}
