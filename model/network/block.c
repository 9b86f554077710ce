#include "model/network/block.h"

#include <math.h>

#include "model/network/split.h"

/* ---- tensors ------------------------------------------------------------------------------ */

void block_add_table(struct model *m, int block, const char *name, int64_t rows)
{
    struct tensor_table *t = &m->tensors;
    tensor_add(t, block, name, rows, m->config.width, INIT_NORMAL, (float)m->config.init_std);
    t->rows[t->count - 1].across = 1;
}

static void add(struct model *m, int block, const char *stem, const char *end, int64_t layer,
                struct tensor like)
{
    char format[TENSOR_NAME], name[TENSOR_NAME];
    struct tensor_table *t = &m->tensors;
    snprintf(format, sizeof format, "%s%s", stem, end);
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* they are the architectures' own */
    snprintf(name, sizeof name, format, (long long)layer);
    tensor_add(t, block, name, like.shape[0], like.shape[1], like.init, like.std);
    t->rows[t->count - 1].transposed = !!like.shape[1];
    t->rows[t->count - 1].across = like.across;
}

void block_add_vector(struct model *m, int block, const char *name, int64_t n)
{
    add(m, block, name, "", 0, (struct tensor){ .shape = { n }, .across = -1 });
}

void block_add_map(struct model *m, int block, const char *stem, int64_t layer, int64_t in,
                   int64_t out, double std, int biased, int across)
{
    const struct tensor map = {
        .shape = { in, out }, .init = INIT_NORMAL, .std = (float)std, .across = across
    };
    add(m, block, stem, ".weight", layer, map);
    if (biased)
        add(m, block, stem, ".bias", layer,
            (struct tensor){ .shape = { out }, .across = across == 1 ? 0 : -1 });
}

void block_add_norm(struct model *m, int block, const char *stem, int64_t layer, int64_t C,
                    int biased, int of_heads)
{
    const int across = of_heads ? -1 : 0;
    add(m, block, stem, ".weight", layer,
        (struct tensor){ .shape = { C }, .init = INIT_ONE, .across = across });
    if (biased)
        add(m, block, stem, ".bias", layer, (struct tensor){ .shape = { C }, .across = across });
}

struct ops_array block_tensor(const struct model *m, struct ops_array w, size_t row)
{
    const struct tensor *t = &m->tensors.rows[row];
    return w.type == OPS_LIST ? ops_listed(w, (int64_t)(row - m->tensors.first[t->block]))
                              : ops_part(w, t->offset);
}

struct ops_decoder block_decoder(const struct model *m, struct ops_array w, struct ops_array tied,
                                 struct ops_array bias)
{
    const struct ops_array table = tied.type == OPS_LIST
                                       ? ops_listed(tied, (int64_t)m->tensors.first[1])
                                       : tied;
    const struct ops_decoder d = { .table = m->tied ? table : block_tensor(m, w, m->decoder_table),
                                   .bias = bias,
                                   .V = m->config.vocabulary,
                                   .C = m->config.width,
                                   .stored = w.type == OPS_LIST };
    return split_decoder(m, &d);
}

struct ops_linear block_linear(const struct model *m, struct ops_array w, size_t row, int64_t N)
{
    const struct tensor *map = &m->tensors.rows[row];
    return (struct ops_linear){ .w = block_tensor(m, w, row),
                                .bias = map->biased ? block_tensor(m, w, row + 1) : OPS_NONE,
                                .N = N,
                                .I = map->shape[0],
                                .O = map->shape[1],
                                .turned = w.type == OPS_LIST };
}

struct ops_norm block_norm(const struct model *m, struct ops_array w, size_t row, int64_t N)
{
    const struct tensor *gain = &m->tensors.rows[row];
    return (struct ops_norm){ .gain = block_tensor(m, w, row),
                              .bias = gain->biased ? block_tensor(m, w, row + 1) : OPS_NONE,
                              .N = N,
                              .C = gain->shape[0],
                              .epsilon = m->config.epsilon,
                              .rms = m->config.architecture->rms,
                              .all = gain->across < 0 ? 0 : split_width(m) };
}

static struct ops_gradient bias_gradient(const struct model *m, struct ops_gradient dw, size_t row)
{
    return m->tensors.rows[row].biased ? block_gradient(m, dw, row + 1) : no_gradient();
}

void block_linear_bwd(const struct model *m, struct ops *o, struct ops_gradient dx,
                      struct ops_gradient dw, size_t row, struct ops_array dy, struct ops_array x,
                      const struct ops_linear *l)
{
    ops_linear_bwd(o, dx, block_gradient(m, dw, row), bias_gradient(m, dw, row), dy, x, l);
}

static void put_gradient(struct ops *o, struct ops_gradient d, struct ops_array from, int64_t n)
{
    if (!ops_is_none(d.to))
        (d.add ? ops_add : ops_copy)(o, d.to, from, n);
}

void block_norm_bwd(const struct model *m, struct ops *o, struct ops_gradient dw, size_t row,
                    struct ops_norm_bwd b, const struct ops_norm *l)
{
    const struct ops_gradient dgain = block_gradient(m, dw, row), dbias = bias_gradient(m, dw, row);
    const int of_heads = m->tensors.rows[row].across < 0;
    b.dgain = dgain;
    b.dbias = dbias;
    if (!m->split || (of_heads ? split_ranks(m, SPLIT_HEADS) == 1 : !split_sequence(m))) {
        split_norm_bwd(m, o, &b, l);
        return;
    }
    const int64_t n = ops_is_none(dbias.to) ? l->C : 2 * l->C;
    struct ops_array parts = ops_scratch(o, OPS_F32, n);
    b.dgain = ops_set(parts);
    b.dbias = ops_set(n > l->C ? ops_part(parts, l->C) : OPS_NONE);
    split_norm_bwd(m, o, &b, l);
    split_sum_of_rows(m, o, parts, n);
    put_gradient(o, dgain, parts, l->C);
    put_gradient(o, dbias, b.dbias.to, l->C);
}

/* ---- attention and dropout ----------------------------------------------------------------- */

/* Returns the dropout of one place in a layer, with random numbers that no other place uses. */
static struct ops_dropout dropout(const struct inputs *in, double rate, int64_t layer,
                                  enum dropout_place place)
{
    uint64_t key = rng_key(rng_key(in->key, (uint64_t)layer), (uint64_t)place);
    return (struct ops_dropout){ .key = key, .rate = place != PLACE_NONE ? rate * in->dropout : 0 };
}

/* Returns the factor on the attention scores of a layer; 0: the default. */
static double scale_of(const struct model_config *c, int64_t layer)
{
    if (!c->unscaled && !c->scale_by_layer)
        return 0;
    return (c->unscaled ? 1 : 1 / sqrt((double)c->head_width)) /
           (double)(c->scale_by_layer ? layer + 1 : 1);
}

struct ops_attention block_attention(const struct model *m, int64_t layer, const struct inputs *in)
{
    const struct model_config *c = &m->config;
    return (struct ops_attention){
        .rows = in->rows,
        .NH = c->heads,
        .KV = c->kv_heads,
        .HS = c->head_width,
        .first_head = m->first_head,
        .all_heads = m->all_heads,
        .scale = scale_of(c, layer),
        .causal = c->head == HEAD_NEXT,
        .window = !c->local_pause || model_is_local(c, layer) ? c->window : 0,
        .drop = dropout(in, c->attention_dropout, layer, PLACE_PROBABILITIES)
    };
}

/* Returns the part of the mask for this rank's rows and columns of the residual stream. */
static struct ops_dropout of_part(const struct model *m, const struct inputs *in,
                                  struct ops_dropout drop)
{
    const int64_t width = m->config.width, ranks = split_ranks(m, SPLIT_WIDTH);
    drop.first = (uint64_t)(split_rows(m, in->N).first * width * ranks);
    if (ranks > 1) {
        drop.first += (uint64_t)(m->split->rank[SPLIT_WIDTH] * width);
        drop.columns = width;
        drop.stride = width * ranks;
    }
    return drop;
}

struct ops_dropout block_embedding_dropout(const struct model *m, const struct inputs *in)
{
    return of_part(m, in, dropout(in, m->config.embedding_dropout, 0, PLACE_EMBEDDING));
}

struct ops_dropout block_head_dropout(const struct model *m, const struct inputs *in)
{
    return of_part(m, in, dropout(in, m->config.head_dropout, m->config.layers, PLACE_HEAD));
}

struct ops_dropout block_pooled_dropout(const struct model *m, const struct inputs *in)
{
    return dropout(in, m->config.head_dropout, m->config.layers, PLACE_HEAD);
}

struct ops_dropout block_residual_dropout(const struct model *m, int64_t layer,
                                          enum dropout_place place, const struct inputs *in)
{
    return of_part(m, in, dropout(in, m->config.residual_dropout, layer, place));
}
