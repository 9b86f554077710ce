#include "tokenizer/learn/em.h"

#include "common/base/order.h"

#include <math.h>

enum { AHEAD = SEEDS_LENGTH_MAX, STEP = 256, CHUNK = 1024 };
static const double smallest = 0x1p-256, least_count = 0.5, penalty = 10;

/* The best division of a text up to a place: its score and its last piece. */
struct best {
    double score;
    uint32_t piece;
};

/* The working memory of one thread. */
struct worker {
    int64_t *counts;     /* of each piece; expected counts in units of 1/scale */
    double *fore, *back; /* see sum_forward, sum_backward */
    int *steps;
    struct best *best;
};

struct em {
    const struct segments *segments;
    struct seeds *pieces;
    struct pool *pool;
    int threads;
    struct worker *workers;
    double scale;
    double *losses;
};

/* Returns the power of two by which expected counts are multiplied, so that no sum overflows. */
static double choose_scale(const struct segments *s)
{
    double most = 1, scale = 0x1p30;
    for (size_t i = 0; i < s->count; i++)
        most += (double)s->items[i].count * s->items[i].len;
    while (most * scale > 0x1p61)
        scale /= 2;
    return scale;
}

struct em *em_new(const struct segments *s, struct seeds *p, struct pool *pool, int threads)
{
    struct em *e = mem_zalloc(1, sizeof *e);
    size_t longest = 0;
    *e = (struct em){ .segments = s, .pieces = p, .pool = pool, .threads = threads };
    for (size_t i = 0; i < s->count; i++)
        longest = s->items[i].len > longest ? s->items[i].len : longest;
    longest += AHEAD + 1;
    e->scale = choose_scale(s);
    e->workers = mem_zalloc((size_t)threads, sizeof *e->workers);
    for (int t = 0; t < threads; t++)
        e->workers[t] = (struct worker){
            .counts = mem_alloc((p->count + 1) * sizeof *e->workers->counts),
            .fore = mem_alloc(longest * sizeof(double)),
            .back = mem_alloc(longest * sizeof(double)),
            .steps = mem_alloc(longest * sizeof(int)),
            .best = mem_alloc(longest * sizeof(struct best)),
        };
    e->losses = mem_alloc((p->count + 1) * sizeof *e->losses);
    return e;
}

void em_free(struct em *e)
{
    for (int t = 0; t < e->threads; t++) {
        free(e->workers[t].counts);
        free(e->workers[t].fore);
        free(e->workers[t].back);
        free(e->workers[t].steps);
        free(e->workers[t].best);
    }
    free(e->workers);
    free(e->losses);
    free(e);
}

/* ---- counts of pieces ----------------------------------------------------------------------- */

typedef void count_segment(const struct em *e, struct worker *w, const struct segment *s);

struct counting {
    struct em *e;
    count_segment *count;
};

static void count_chunk(void *ctx, int64_t i, int thread)
{
    const struct counting *c = ctx;
    const struct segments *s = c->e->segments;
    size_t end = (size_t)(i + 1) * CHUNK < s->count ? (size_t)(i + 1) * CHUNK : s->count;
    for (size_t k = (size_t)i * CHUNK; k < end; k++)
        c->count(c->e, &c->e->workers[thread], &s->items[k]);
}

/* Runs `count` on all segments, in parallel. Returns an array with the sum of the counts of each
 * piece. */
static const int64_t *count_all(struct em *e, count_segment *count)
{
    struct counting c = { e, count };
    int64_t *sums = e->workers[0].counts;
    for (int t = 0; t < e->threads; t++)
        memset(e->workers[t].counts, 0, e->pieces->count * sizeof *sums);
    pool_each(e->pool, (int64_t)((e->segments->count + CHUNK - 1) / CHUNK), count_chunk, &c);
    for (int t = 1; t < e->threads; t++)
        for (size_t i = 0; i < e->pieces->count; i++)
            sums[i] += e->workers[t].counts[i];
    return sums;
}

/* ---- expectation ---------------------------------------------------------------------------- */

/* Sets fore[i] to the sum of the probabilities of all divisions of the first i characters, times
 * 2^(STEP * steps[i]). The factor keeps long segments from underflowing. */
static void sum_forward(const struct em *e, struct worker *w, const struct segment *s)
{
    const struct seed *pieces = e->pieces->items;
    const uint32_t *longest = e->pieces->longest + s->at;
    int steps = 0;
    memset(w->fore, 0, (s->len + AHEAD + 1) * sizeof *w->fore);
    w->fore[0] = 1;
    for (uint32_t i = 0; i < s->len; i++) {
        if (w->fore[i] < smallest) {
            for (uint32_t k = i; k <= i + AHEAD; k++)
                w->fore[k] = ldexp(w->fore[k], STEP);
            steps++;
        }
        w->steps[i] = steps;
        for (uint32_t p = longest[i]; p != SEEDS_NONE; p = pieces[p].prefix)
            w->fore[i + pieces[p].length] += w->fore[i] * pieces[p].probability;
    }
    w->steps[s->len] = steps;
}

/* Adds the expected counts of a segment's pieces. back[i] * fore[i] / fore[len] is the probability
 * that a division of the segment has a cut at i. */
static void expect(const struct em *e, struct worker *w, const struct segment *s)
{
    const struct seed *pieces = e->pieces->items;
    const uint32_t *longest = e->pieces->longest + s->at;
    sum_forward(e, w, s);
    double weight = (double)s->count * e->scale / w->fore[s->len];
    w->back[s->len] = 1;
    for (uint32_t i = s->len; i-- > 0;) {
        double sum = 0, share = weight * w->fore[i];
        for (uint32_t p = longest[i]; p != SEEDS_NONE; p = pieces[p].prefix) {
            uint32_t end = i + pieces[p].length;
            double rest = pieces[p].probability * w->back[end];
            if (w->steps[end] != w->steps[i])
                rest = ldexp(rest, STEP * (w->steps[end] - w->steps[i]));
            sum += rest;
            w->counts[p] += (int64_t)(share * rest + 0.5);
        }
        w->back[i] = sum;
    }
}

/* ---- maximization --------------------------------------------------------------------------- */

/* Returns the derivative of log gamma, for x > 0. Uses the recurrence up to 7, then the asymptotic
 * series (Abramowitz and Stegun 6.3.5, 6.3.18). */
static double digamma(double x)
{
    double result = 0;
    for (; x < 7; x++)
        result -= 1 / x;
    double r = 1 / (x * x);
    return result + log(x) - 0.5 / x -
           r * (1 / 12.0 - r * (1 / 120.0 - r * (1 / 252.0 - r * (1 / 240.0 - r / 132))));
}

static void set_score(struct seed *piece, double score)
{
    piece->score = score;
    piece->probability = exp(score);
}

double em_step(struct em *e)
{
    struct seeds *p = e->pieces;
    const int64_t *counts = count_all(e, expect);
    SCOPED_MEM unsigned char *keep = mem_alloc(p->count + 1);
    double least = INFINITY;
    int64_t sum = 0;
    for (size_t i = 0; i < p->count; i++)
        sum += (double)counts[i] >= least_count * e->scale ? counts[i] : 0;
    double whole = digamma((double)sum / e->scale);
    for (size_t i = 0; i < p->count; i++) {
        int enough = (double)counts[i] >= least_count * e->scale;
        keep[i] = enough || p->items[i].length == 1;
        if (enough)
            set_score(&p->items[i], digamma((double)counts[i] / e->scale) - whole);
        if (enough && p->items[i].score < least)
            least = p->items[i].score;
    }
    for (size_t i = 0; i < p->count; i++)
        if ((double)counts[i] < least_count * e->scale && keep[i])
            set_score(&p->items[i], least - penalty);
    seeds_keep(p, keep);
    return least;
}

/* ---- pruning -------------------------------------------------------------------------------- */

/* Finds the most probable division of text[at..at+n) without the piece `without`. Returns its
 * score, and sets best[]: best[i].piece is the piece that ends at i. */
static double divide(const struct seeds *p, struct best *best, uint32_t at, uint32_t n,
                     uint32_t without)
{
    for (uint32_t i = 1; i <= n + AHEAD; i++)
        best[i].score = -INFINITY;
    best[0].score = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = p->longest[at + i]; k != SEEDS_NONE; k = p->items[k].prefix) {
            double score = best[i].score + p->items[k].score;
            struct best *end = &best[i + p->items[k].length];
            if (score > end->score && k != without)
                *end = (struct best){ score, k };
        }
    return best[n].score;
}

static void count_best(const struct em *e, struct worker *w, const struct segment *s)
{
    const struct seeds *p = e->pieces;
    divide(p, w->best, s->at, s->len, SEEDS_NONE);
    for (uint32_t i = s->len; i; i -= p->items[w->best[i].piece].length)
        w->counts[w->best[i].piece] += (int64_t)s->count;
}

struct pruning {
    struct em *e;
    const int64_t *counts;
    double sum; /* of all counts */
};

/* Sets losses[i] to the loss of likelihood without piece i: INFINITY if it must stay, -INFINITY
 * if it is of no use. */
static void find_loss(void *ctx, int64_t i, int thread)
{
    const struct pruning *c = ctx;
    const struct seeds *p = c->e->pieces;
    const struct seed *piece = &p->items[i];
    struct best *best = c->e->workers[thread].best;
    double count = (double)c->counts[i], other = 0;
    uint32_t parts = 0;
    c->e->losses[i] = piece->length == 1 ? INFINITY : -INFINITY;
    if (piece->length == 1 || !c->counts[i] ||
        divide(p, best, p->at[i], piece->length, (uint32_t)i) >= piece->score)
        return;
    for (uint32_t k = piece->length; k; k -= p->items[best[k].piece].length, parts++)
        other += log((double)c->counts[best[k].piece] + count);
    other -= parts * log(c->sum + count * (parts - 1));
    c->e->losses[i] = count * (log(count) - log(c->sum) - other);
}

/* Keeps the `size` pieces with the largest losses, and all that must stay. */
static void keep_best(struct em *e, size_t size)
{
    size_t count = e->pieces->count, kept = 0;
    SCOPED_MEM unsigned char *keep = mem_zalloc(count + 1, 1);
    SCOPED_MEM struct order_rank *all = mem_alloc((count + 1) * sizeof *all);
    for (size_t i = 0; i < count; i++)
        if (e->losses[i] > -INFINITY)
            all[kept++] = (struct order_rank){ e->losses[i], (uint32_t)i };
    mem_sort(all, kept, order_ranks);
    for (size_t i = 0; i < kept && (i < size || isinf(all[i].rank)); i++)
        keep[all[i].item] = 1;
    seeds_keep(e->pieces, keep);
}

void em_prune(struct em *e, size_t size)
{
    struct pruning c = { .e = e, .counts = count_all(e, count_best) };
    for (size_t i = 0; i < e->pieces->count; i++)
        c.sum += (double)c.counts[i];
    pool_each(e->pool, (int64_t)e->pieces->count, find_loss, &c);
    keep_best(e, size);
}
