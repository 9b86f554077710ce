#include "generate/cache.h"

#include "common/base/least.h"
#include "model/compute/ops_exchange.h"

/* ---- what all texts share ----------------------------------------------------------------- */

static const struct model_config *config_of(const struct decoder *d)
{
    return &d->forward.model->config;
}

void decoder_init(struct decoder *d, const struct model *m, struct ops *o,
                  const struct ops_array *blocks, enum ops_type type)
{
    assert(type == OPS_F32 || type == OPS_BF16);
    *d = (struct decoder){ .forward = { .model = m, .ops = o, .blocks = blocks }, .type = type };
}

static void free_room(struct decoder *d)
{
    ops_buffer_free(d->forward.ops, d->last);
    ops_buffer_free(d->forward.ops, d->copied);
    free(d->pasts);
}

void decoder_release(struct decoder *d)
{
    if (!d->forward.ops)
        return;
    free_room(d);
    inputs_release(&d->inputs, d->forward.ops);
    forward_release(&d->forward);
    *d = (struct decoder){ 0 };
}

/* Makes room for the logits of n texts. */
static void make_room(struct decoder *d, int64_t n)
{
    const int64_t V = config_of(d)->vocabulary;
    if (n <= d->room)
        return;
    free_room(d);
    d->room = n;
    d->last = ops_buffer(d->forward.ops, OPS_F32, n * V);
    if (!ops_on_host(d->forward.ops)) {
        const int64_t bytes = n * V * (int64_t)sizeof *d->logits;
        d->copied = ops_host_buffer(d->forward.ops, bytes);
        d->logits = ops_map(d->forward.ops, d->copied, bytes);
    }
    d->pasts = mem_zalloc((size_t)n, sizeof *d->pasts);
}

/* ---- memory of a text --------------------------------------------------------------------- */

/* Returns the numbers in one layer's keys of n positions. */
static int64_t layer_numbers(const struct cache *c, int64_t n)
{
    return n * config_of(c->d)->kv_heads * config_of(c->d)->head_width;
}

int64_t cache_numbers(const struct cache *c, int64_t n)
{
    return config_of(c->d)->layers * layer_numbers(c, n);
}

void cache_init(struct cache *c, struct decoder *d)
{
    *c = (struct cache){ .d = d };
}

static void free_past(struct cache *c, const struct ops_past *p)
{
    ops_buffer_free(c->d->forward.ops, p->keys);
    ops_buffer_free(c->d->forward.ops, p->values);
}

void cache_release(struct cache *c)
{
    if (!c->d)
        return;
    free_past(c, &c->past);
    *c = (struct cache){ 0 };
}

void cache_truncate(struct cache *c, int64_t used)
{
    assert(used >= 0 && used <= c->past.used);
    c->past.used = used;
}

/* Copies the first `positions` positions of each layer from *from. */
static void copy_past(struct cache *c, const struct ops_past *from, int64_t positions)
{
    struct ops *o = c->d->forward.ops;
    const int64_t used = layer_numbers(c, positions);
    const int64_t there = layer_numbers(c, from->room), here = layer_numbers(c, c->past.room);
    for (int64_t l = 0; l < config_of(c->d)->layers && used; l++) {
        ops_copy(o, ops_part(c->past.keys, l * here), ops_part(from->keys, l * there), used);
        ops_copy(o, ops_part(c->past.values, l * here), ops_part(from->values, l * there), used);
    }
}

/* Makes room for n positions in all; their keys and values so far are kept. */
static void reserve(struct cache *c, int64_t n)
{
    struct ops *o = c->d->forward.ops;
    const struct ops_past old = c->past;
    struct ops_past *p = &c->past;
    if (n <= old.room)
        return;
    while (p->room < n)
        p->room = p->room ? 2 * p->room : 64;
    if (p->room > config_of(c->d)->positions)
        p->room = config_of(c->d)->positions;
    p->keys = ops_buffer(o, c->d->type, cache_numbers(c, p->room));
    p->values = ops_buffer(o, c->d->type, cache_numbers(c, p->room));
    copy_past(c, &old, old.used);
    free_past(c, &old);
}

void cache_copy(struct cache *to, const struct cache *from, int64_t positions)
{
    assert(positions >= 0 && positions <= from->past.used);
    to->past.used = 0;
    reserve(to, positions);
    copy_past(to, &from->past, positions);
    to->past.used = positions;
}

/* ---- in host memory ----------------------------------------------------------------------- */

/* Copies the used positions of `past`, the keys or the values of c, to floats in host memory or, if
 * `back`, from there. */
static void move_floats(const struct cache *c, struct ops_array past, float *floats, int back)
{
    struct ops *o = c->d->forward.ops;
    const int64_t n = layer_numbers(c, c->past.used), room = layer_numbers(c, c->past.room);
    const struct ops_array layer = ops_buffer(o, OPS_F32, n);
    for (int64_t l = 0; l < config_of(c->d)->layers; l++, past = ops_part(past, room)) {
        if (back)
            ops_upload(o, layer, floats + l * n, n);
        ops_copy(o, back ? past : layer, back ? layer : past, n);
        if (!back)
            ops_download(o, floats + l * n, layer, n);
    }
    ops_buffer_free(o, layer);
}

void cache_get(const struct cache *c, float *keys, float *values)
{
    move_floats(c, c->past.keys, keys, 0);
    move_floats(c, c->past.values, values, 0);
}

void cache_set(struct cache *c, int64_t n, float *keys, float *values)
{
    c->past.used = 0;
    reserve(c, n);
    c->past.used = n;
    move_floats(c, c->past.keys, keys, 1);
    move_floats(c, c->past.values, values, 1);
}

/* ---- forward ------------------------------------------------------------------------------ */

/* Makes room for n more tokens of a text. Returns 0, or -1 with an error if they do not fit into
 * the model's positions or are not in its vocabulary. */
static int check(struct cache *c, const uint32_t *ids, int64_t n)
{
    const struct model_config *k = config_of(c->d);
    if (n > k->positions - c->past.used)
        return err_set("no room for %lld more tokens: %lld of the model's %lld positions are used",
                       (long long)n, (long long)c->past.used, (long long)k->positions);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] >= k->vocabulary)
            return err_set("token %u is not in the model's vocabulary of %lld", ids[i],
                           (long long)k->vocabulary);
    reserve(c, c->past.used + n);
    return 0;
}

/* Computes the logits of the token that follows each text of d->inputs. */
static void run(void *decoder)
{
    struct decoder *d = decoder;
    struct ops_array x = forward_layers(&d->forward, &d->inputs);
    const int64_t last = (d->inputs.tokens.T - 1) * config_of(d)->width;
    forward_logits(&d->forward, ops_part(d->last, d->first * config_of(d)->vocabulary),
                   ops_part(x, last), d->inputs.rows.B);
}

/* Appends n tokens to each of B texts. Writes the logits of the tokens that follow them to the rows
 * of d->last from `first` on. B or n is 1. */
static void append(struct decoder *d, int64_t first, struct cache *const *texts, int64_t B,
                   const uint32_t *ids, int64_t n)
{
    struct ops *o = d->forward.ops;
    d->first = first;
    for (int64_t b = 0; b < B; b++)
        d->pasts[b] = texts[b]->past;
    inputs_follow(&d->inputs, o, d->pasts, B, ids, n);
    if (n == 1)
        ops_repeat(o, d->pasts, B, run, d);
    else
        run(d);
    for (int64_t b = 0; b < B; b++)
        texts[b]->past.used += n;
}

/* Returns the logits of B texts in host memory. */
static float *get_logits(struct decoder *d, int64_t B)
{
    const int64_t n = B * config_of(d)->vocabulary;
    if (!d->logits)
        return ops_map(d->forward.ops, d->last, n);
    ops_download(d->forward.ops, d->logits, d->last, n);
    return d->logits;
}

float *cache_forward(struct cache *c, const uint32_t *ids, int64_t n)
{
    assert(n >= 1);
    if (check(c, ids, n) < 0)
        return NULL;
    make_room(c->d, 1);
    for (int64_t begin = 0; begin < n; begin += CACHE_PIECE)
        append(c->d, 0, &c, 1, ids + begin, smaller(n - begin, CACHE_PIECE));
    return get_logits(c->d, 1);
}

float *decoder_step(struct decoder *d, struct cache *const *texts, const uint32_t *ids, int64_t n)
{
    const int64_t most = ops_on_host(d->forward.ops) ? OPS_FEW_ROWS : n;
    const int64_t pieces = (n + most - 1) / most;
    for (int64_t i = 0; i < n; i++)
        if (check(texts[i], &ids[i], 1) < 0)
            return NULL;
    make_room(d, n);
    for (int64_t p = 0; p < pieces; p++) {
        const int64_t begin = n * p / pieces, end = n * (p + 1) / pieces;
        append(d, begin, texts + begin, end - begin, ids + begin, 1);
    }
    return get_logits(d, n);
}
