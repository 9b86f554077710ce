#include "generate/sample.h"

#include <math.h>

#include "common/base/base.h"
#include "common/base/heap.h"

/* A candidate, its weight, and its place in an order: smaller ranks come first, and of equal ranks
 * the lower id. */
struct ranked {
    double rank, weight;
    struct candidate c;
};

void sampler_release(struct sampler *s)
{
    free(s->candidates);
    free(s->weights);
    free(s->seen);
    free(s->ranked);
    s->candidates = NULL;
    s->weights = NULL;
    s->seen = NULL;
    s->ranked = NULL;
    s->size = 0;
}

static void make_room(struct sampler *s, int64_t V)
{
    if (V <= s->size)
        return;
    sampler_release(s);
    s->candidates = mem_zalloc((size_t)V, sizeof *s->candidates);
    s->weights = mem_zalloc((size_t)V, sizeof *s->weights);
    s->seen = mem_zalloc((size_t)V, 1);
    s->ranked = mem_zalloc((size_t)V, sizeof *s->ranked);
    s->size = V;
}

/* ---- bias ---------------------------------------------------------------------------------- */

int sampler_bias_parse(struct sampler_bias *out, const char *text)
{
    char *end;
    const unsigned long long id = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '=' || id > UINT32_MAX)
        return err_set("not ID=X: a token's number and a number");
    const char *number = end + 1;
    double bias = strtod(number, &end);
    if (end == number || *end || !(fabs(bias) <= 1e6))
        return err_set("'%s' is no number from -1e6 to 1e6", number);
    *out = (struct sampler_bias){ (uint32_t)id, (float)bias };
    return 0;
}

/* ---- penalties ---------------------------------------------------------------------------- */

/* Subtracts `each` from the logit of each token of ids[0..n), as often as it occurs. Once for each
 * distinct token, subtracts `once`, and divides a positive logit by `factor`, or multiplies a
 * negative one. */
static void penalize(struct sampler *s, float *logits, const uint32_t *ids, size_t n, double factor,
                     double once, double each)
{
    for (size_t i = 0; i < n; i++) {
        float *l = &logits[ids[i]], by = s->seen[ids[i]] ? 1 : (float)factor;
        *l -= (float)each + (s->seen[ids[i]] ? 0 : (float)once);
        *l = *l > 0 ? *l / by : *l * by;
        s->seen[ids[i]] = 1;
    }
    for (size_t i = 0; i < n; i++)
        s->seen[ids[i]] = 0;
}

void sampler_adjust(struct sampler *s, float *logits, int64_t V, const struct sampler_text *text)
{
    size_t window = s->window && (size_t)s->window < text->n ? (size_t)s->window : text->n;
    size_t begin = text->n - window, made = begin > text->prompt ? begin : text->prompt;
    make_room(s, V);
    for (size_t i = 0; i < s->bias_count; i++)
        logits[s->biases[i].id] += s->biases[i].bias;
    if (s->repetition_penalty != 1)
        penalize(s, logits, text->ids + begin, window, s->repetition_penalty, 0, 0);
    if (s->presence != 0 || s->frequency != 0)
        penalize(s, logits, text->ids + made, text->n - made, 1, s->presence, s->frequency);
}

/* ---- the largest logits ------------------------------------------------------------------- */

enum { BLOCK = 64, LANES = 16 };

/* Returns the largest number of the block that begins at i, or -INFINITY if it has none but NaNs.
 * Few blocks have a logit that is large enough, so most logits are only read here. */
static float block_largest(const float *logits, int64_t V, int64_t i)
{
    float most[LANES];
    for (int l = 0; l < LANES; l++)
        most[l] = -INFINITY;
    if (V - i < BLOCK)
        for (; i < V; i++)
            most[0] = logits[i] > most[0] ? logits[i] : most[0];
    else
        for (int64_t end = i + BLOCK; i < end; i += LANES)
            for (int l = 0; l < LANES; l++)
                most[l] = logits[i + l] > most[l] ? logits[i + l] : most[l];
    for (int n = LANES / 2; n; n /= 2)
        for (int l = 0; l < n; l++)
            most[l] = most[l + n] > most[l] ? most[l + n] : most[l];
    return most[0];
}

static int64_t block_end(int64_t V, int64_t i)
{
    return V - i < BLOCK ? V : i + BLOCK;
}

static uint32_t largest(const float *logits, int64_t V)
{
    int64_t best = 0;
    for (int64_t b = 0; b < V; b += BLOCK)
        if (block_largest(logits, V, b) > logits[best])
            for (int64_t i = b; i < block_end(V, b); i++)
                if (logits[i] > logits[best])
                    best = i;
    return (uint32_t)best;
}

/* ---- tokens in the order of their rank ------------------------------------------------------ */

static int before(const struct ranked *a, const struct ranked *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->c.id < b->c.id;
}

HEAP(ranked, struct ranked, before)

/* ---- top k -------------------------------------------------------------------------------- */

/* Returns the k-th largest logit, or -INFINITY if there are fewer than k numbers. heap: scratch
 * memory for k items. */
static float kth_logit(struct ranked *heap, const float *logits, int64_t V, int64_t k)
{
    for (int64_t i = 0; i < k; i++)
        heap[i] = (struct ranked){ .rank = -INFINITY };
    for (int64_t b = 0; b < V; b += BLOCK)
        if (block_largest(logits, V, b) > heap[0].rank)
            for (int64_t i = b; i < block_end(V, b); i++)
                if (logits[i] > heap[0].rank)
                    ranked_sink(heap, (size_t)k, 0, (struct ranked){ .rank = logits[i] });
    return (float)heap[0].rank;
}

/* Fills the candidates with the tokens whose logit is at least `least`, in the order of their ids.
 * Returns their number. */
static int64_t keep_above(struct candidate *c, const float *logits, int64_t V, float least)
{
    int64_t n = 0;
    for (int64_t b = 0; b < V; b += BLOCK)
        if (block_largest(logits, V, b) >= least)
            for (int64_t i = b; i < block_end(V, b); i++)
                if (logits[i] >= least)
                    c[n++] = (struct candidate){ logits[i], (uint32_t)i };
    return n;
}

/* ---- top p -------------------------------------------------------------------------------- */

/* Sets weights = exp((logit - largest) / temperature) and returns their sum. */
static double weigh(struct sampler *s, int64_t n)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = s->candidates[i].logit > most ? s->candidates[i].logit : most;
    for (int64_t i = 0; i < n; i++)
        sum += s->weights[i] = exp((s->candidates[i].logit - most) / s->temperature);
    return sum;
}

/* Moves the tokens that top_p keeps to the front of s->candidates[n] and returns their number.
 * Tokens less probable than (1-p)/n sum to less than 1-p, so the other tokens reach p without
 * them. Only the tokens that are kept are sorted. */
static int64_t keep_nucleus(struct sampler *s, int64_t n)
{
    double sum = weigh(s, n), least = sum * (1 - s->top_p) / (double)n, reached = 0;
    int64_t kept = 0;
    size_t left = 0;
    for (int64_t i = 0; i < n; i++)
        if (s->weights[i] >= least)
            s->ranked[left++] = (struct ranked){ -(double)s->candidates[i].logit, s->weights[i],
                                                 s->candidates[i] };
    ranked_make(s->ranked, left);
    while (left && (!kept || reached < s->top_p * sum)) {
        const struct ranked next = ranked_take(s->ranked, &left);
        reached += next.weight;
        s->candidates[kept++] = next.c;
    }
    return kept;
}

/* ---- min p ---------------------------------------------------------------------------------- */

/* Moves the tokens that min_p keeps to the front of s->candidates[n] and returns their number. The
 * largest weight is 1. */
static int64_t keep_probable(struct sampler *s, int64_t n)
{
    int64_t kept = 0;
    weigh(s, n);
    for (int64_t i = 0; i < n; i++)
        if (s->weights[i] >= s->min_p)
            s->candidates[kept++] = s->candidates[i];
    return kept ? kept : n;
}

/* ---- typical p ------------------------------------------------------------------------------ */

static int64_t keep_typical(struct sampler *s, int64_t n)
{
    double sum = weigh(s, n), entropy = 0, reached = 0, last = 0;
    int64_t kept = 0;
    size_t left = (size_t)n;
    for (int64_t i = 0; i < n; i++)
        if (s->weights[i] > 0)
            entropy -= s->weights[i] / sum * log(s->weights[i] / sum);
    for (int64_t i = 0; i < n; i++) {
        double surprise = -log(s->weights[i] / sum);
        s->ranked[i] = (struct ranked){ fabs(surprise - entropy), s->weights[i], s->candidates[i] };
    }
    ranked_make(s->ranked, left);
    while (left && (reached < s->typical_p * sum || (kept && s->ranked[0].rank == last))) {
        const struct ranked next = ranked_take(s->ranked, &left);
        reached += next.weight;
        last = next.rank;
        s->candidates[kept++] = next.c;
    }
    return kept ? kept : n;
}

/* ---- the choice --------------------------------------------------------------------------- */

int64_t sampler_candidates(struct sampler *s, float *logits, int64_t V,
                           const struct sampler_text *text)
{
    sampler_adjust(s, logits, V, text);
    const int some = s->top_k && s->top_k < V;
    int64_t count = keep_above(s->candidates, logits, V,
                               some ? kth_logit(s->ranked, logits, V, s->top_k) : -INFINITY);
    if (s->top_p < 1)
        count = keep_nucleus(s, count);
    if (s->min_p > 0)
        count = keep_probable(s, count);
    if (s->typical_p < 1)
        count = keep_typical(s, count);
    weigh(s, count);
    return count;
}

uint32_t sampler_next(struct sampler *s, float *logits, int64_t V, const struct sampler_text *text,
                      struct rng *rng)
{
    if (s->temperature == 0) {
        sampler_adjust(s, logits, V, text);
        return largest(logits, V);
    }
    int64_t count = sampler_candidates(s, logits, V, text), i;
    double sum = 0;
    for (i = 0; i < count; i++)
        sum += s->weights[i];
    double point = rng_real(rng) * sum;
    for (i = 0; i < count - 1 && point >= s->weights[i]; i++)
        point -= s->weights[i];
    return s->candidates[i].id;
}

/* ---- log probabilities -------------------------------------------------------------------- */

double logprobs_sum(const float *logits, int64_t V)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < V; i++)
        most = logits[i] > most ? logits[i] : most;
    for (int64_t i = 0; i < V; i++)
        sum += exp(logits[i] - most);
    return most + log(sum);
}
