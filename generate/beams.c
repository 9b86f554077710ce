#include "generate/beams.h"

#include <math.h>

#include "common/base/least.h"

/* Beam `parent` extended by the token `id`. */
struct continuation {
    int64_t parent;
    uint32_t id;
    double sum;
    enum finish finish;
};

/* ---- life ----------------------------------------------------------------------------------- */

/* Makes n beams, which have empty caches. */
static struct beam *new_beams(struct generator *g, int64_t n)
{
    struct beam *beams = mem_zalloc((size_t)n, sizeof *beams);
    for (int64_t i = 0; i < n; i++)
        cache_init(&beams[i].one.cache, &g->decoder);
    return beams;
}

static void free_beams(struct beam *beams, int64_t n)
{
    for (int64_t i = 0; i < n && beams; i++)
        generation_release(&beams[i].one);
    free(beams);
}

/* Returns the number of the best continuations of all beams that are looked at: so many that
 * `width` of them go on, also if each beam ends with each token that ends a text. */
static int64_t looked_at(const struct beams *b)
{
    return (1 + larger(1, (int64_t)b->g->ends.count)) * b->width;
}

void beams_begin(struct beams *b, struct generator *g, const struct start *start)
{
    const size_t width = (size_t)b->width;
    b->g = g;
    b->start = start;
    b->running = new_beams(g, b->width);
    b->next = new_beams(g, b->width);
    b->results = mem_zalloc(width, sizeof *b->results);
    b->continuations = mem_zalloc(width * (size_t)looked_at(b), sizeof *b->continuations);
    b->top = mem_zalloc(width * (size_t)looked_at(b), sizeof *b->top);
    b->taking = mem_zalloc(width, sizeof *b->taking);
    b->last = mem_zalloc(width, sizeof *b->last);
    struct generation *first = &b->running[0].one;
    text_init(&first->text, g->stops, g->stop_count);
    ids_append(&first->ids, start->ids.data, start->ids.count);
    first->prompt = start->ids.count;
    first->blank = start->blank;
    cache_copy(&first->cache, &start->cache, start->cache.past.used);
    b->logits = start->logits;
    b->running_count = 1;
    b->result_count = 0;
}

void beams_release(struct beams *b)
{
    free_beams(b->running, b->width);
    free_beams(b->next, b->width);
    free_beams(b->results, b->width);
    free(b->continuations);
    free(b->top);
    free(b->taking);
    free(b->last);
    *b = (struct beams){ .width = b->width, .length_penalty = b->length_penalty };
}

/* ---- how a beam ends ------------------------------------------------------------------------ */

/* Makes *out, which keeps its cache, the text of a continuation. Returns how it ends. */
static enum finish continue_text(struct generation *out, const struct beams *b,
                                 const struct continuation *c)
{
    const struct generation *parent = &b->running[c->parent].one;
    generation_copy(out, parent);
    ids_add(&out->ids, c->id);
    const enum finish reason = generation_add(b->g, out, c->id);
    return !reason && parent->cache.past.used == b->g->model.config.positions ? FINISH_POSITIONS
                                                                              : reason;
}

/* Returns the number of tokens that a continuation of beam `parent` has. */
static double tokens_after(const struct beams *b, int64_t parent)
{
    return (double)(b->running[parent].one.ids.count - b->start->ids.count) + 1;
}

/* ---- a step --------------------------------------------------------------------------------- */

static int by_sum(const void *a, const void *b)
{
    const struct continuation *x = a, *y = b;
    if (x->sum != y->sum)
        return x->sum > y->sum ? -1 : 1;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

/* Returns the number of continuations of each beam that are ranked: no beam can have more among
 * those that are looked at. */
static int64_t ranked(const struct beams *b)
{
    return smaller(looked_at(b), b->g->known);
}

/* Writes the most probable continuations of running beam `parent` to its part of b->continuations.
 * Their sums are not finite if the beam's logits are not. */
static void extend(void *ctx, int64_t parent, int thread)
{
    const struct beams *b = ctx;
    const struct beam *beam = &b->running[parent];
    const int64_t all = b->g->model.config.vocabulary, n = ranked(b);
    const int64_t V = b->g->known;
    float *logits = b->logits + parent * all;
    struct order_rank *top = b->top + parent * n;
    const struct ids *ids = &beam->one.ids;
    const double sum = logprobs_sum(logits, all);
    for (int64_t i = 0; i < V; i++)
        logits[i] = (float)(logits[i] - sum);
    sampler_adjust(generator_sampler(b->g, thread), logits, V,
                   &(struct sampler_text){ ids->data, ids->count, b->start->ids.count });
    order_top(top, (size_t)n, logits, (size_t)V, 0);
    for (int64_t i = 0; i < n; i++)
        b->continuations[parent * n + i] = (struct continuation){
            .parent = parent,
            .id = top[i].item,
            .sum = isfinite(sum) ? beam->sum + top[i].rank : sum,
        };
}

/* Sorts the continuations of all beams and sets how those end that are looked at. Returns the
 * number of these, or -1 with an error. */
static int64_t rank(struct beams *b)
{
    const int64_t n = ranked(b);
    int64_t count = b->running_count * n;
    ops_each(b->g->ops, b->running_count, extend, b);
    for (int64_t i = 0; i < count; i += n)
        if (!isfinite(b->continuations[i].sum))
            return err_set("the model's logits are %f: its weights are damaged or its training "
                           "diverged",
                           b->continuations[i].sum);
    qsort(b->continuations, (size_t)count, sizeof *b->continuations, by_sum);
    count = smaller(count, looked_at(b));
    for (int64_t i = 0; i < count; i++) {
        SCOPED(generation) one = { 0 };
        b->continuations[i].finish = continue_text(&one, b, &b->continuations[i]);
    }
    return count;
}

static void continue_beam(struct beam *out, const struct beams *b, const struct continuation *c)
{
    out->one.finish = continue_text(&out->one, b, c);
    out->sum = c->sum;
}

/* Inserts a continuation into the sorted results if it is one of the best `width`. */
static void add_result(struct beams *b, const struct continuation *c)
{
    double score = c->sum / pow(tokens_after(b, c->parent), b->length_penalty);
    int64_t at = b->result_count;
    if (at == b->width && !(score > b->results[at - 1].score))
        return;
    b->result_count += at < b->width;
    at = b->result_count - 1;
    struct beam free_one = b->results[at];
    for (; at && score > b->results[at - 1].score; at--)
        b->results[at] = b->results[at - 1];
    b->results[at] = free_one;
    continue_beam(&b->results[at], b, c);
    b->results[at].score = score;
}

/* Makes the beams of the next step from continuations. Each begins with a copy of its parent's
 * cache, which gets the new token. */
static int advance(struct beams *b, int64_t count)
{
    int64_t n = 0;
    for (int64_t i = 0; i < count && n < b->width; i++) {
        const struct continuation *c = &b->continuations[i];
        const struct cache *from = &b->running[c->parent].one.cache;
        if (c->finish)
            continue;
        cache_copy(&b->next[n].one.cache, from, from->past.used);
        continue_beam(&b->next[n], b, c);
        b->taking[n] = &b->next[n].one.cache;
        b->last[n++] = c->id;
    }
    b->logits = decoder_step(&b->g->decoder, b->taking, b->last, n);
    if (!b->logits)
        return -1;
    struct beam *before = b->running;
    b->running = b->next;
    b->next = before;
    b->running_count = n;
    return 0;
}

/* Returns 1 if the best continuation that does not end could still become a result, judged by its
 * score at its present length, else 0. */
static int improvable(const struct beams *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!b->continuations[i].finish)
            return b->result_count < b->width ||
                   b->continuations[i].sum / pow(tokens_after(b, 0), b->length_penalty) >
                       b->results[b->width - 1].score;
    return 0;
}

int beams_step(struct beams *b)
{
    int64_t count = rank(b);
    if (count < 0)
        return -1;
    for (int64_t i = 0; i < count && i < b->width; i++)
        if (b->continuations[i].finish)
            add_result(b, &b->continuations[i]);
    if (!improvable(b, count))
        return 0;
    return advance(b, count) < 0 ? -1 : 1;
}

double beams_take(const struct beams *b, int64_t i, struct generation *one)
{
    const int whole = i < b->result_count;
    const struct beam *beam = whole ? &b->results[i] : &b->running[0];
    generation_release(one);
    generation_copy(one, &beam->one);
    text_end(&one->text);
    one->finish = whole ? beam->one.finish : FINISH_INTERRUPT;
    return whole ? beam->score : beam->sum;
}
