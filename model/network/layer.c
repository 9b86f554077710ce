#include "model/network/layer.h"

#include <math.h>

#include "common/base/least.h"
#include "model/network/block.h"
#include "model/network/split.h"

/* ---- arrays and rows ---------------------------------------------------------------------- */

enum width { OF_STREAM, OF_QUERIES, OF_KEYS, OF_INNER };

/* The arrays. own: a rank has only its own rows, as those of the residual stream (split.h).
 * product: matrix products read the array's gradient, so it has the type of their operands. */
static const struct {
    const char *name;
    enum width width;
    int own, product;
} arrays[LAYER_ARRAYS] = {
    [AT_INPUT] = { "input", OF_STREAM, 1, 0 },
    [AT_NORMED] = { "normed", OF_STREAM, 0, 0 },
    [AT_QUERIES] = { "queries", OF_QUERIES, 0, 1 },
    [AT_KEYS] = { "keys", OF_KEYS, 0, 1 },
    [AT_VALUES] = { "values", OF_KEYS, 0, 1 },
    [AT_NORMED_QUERIES] = { "normed queries", OF_QUERIES, 0, 1 },
    [AT_NORMED_KEYS] = { "normed keys", OF_KEYS, 0, 1 },
    [AT_HEADS] = { "heads", OF_QUERIES, 0, 0 },
    [AT_MIDDLE] = { "middle", OF_STREAM, 1, 0 },
    [AT_BRANCH] = { "branch", OF_STREAM, 0, 0 },
    [AT_INNER] = { "inner", OF_INNER, 0, 1 },
    [AT_UP] = { "up", OF_INNER, 0, 1 },
    [AT_ACTIVE] = { "active", OF_INNER, 0, 1 },
    [AT_SUM] = { "sum", OF_STREAM, 1, 0 },
    [AT_OUTPUT] = { "output", OF_STREAM, 1, 0 },
};

static int64_t width_of(const struct model_config *c, enum layer_array a)
{
    switch (arrays[a].width) {
    case OF_QUERIES: return c->heads * c->head_width;
    case OF_KEYS: return c->kv_heads * c->head_width;
    case OF_INNER: return c->inner;
    case OF_STREAM: break;
    }
    return c->width;
}

static int list_of(const struct model *m, int64_t layer)
{
    return (layer == 0 ? LAYER_FIRST : 0) + (layer == m->config.layers - 1 ? LAYER_LAST : 0);
}

static int weights_of(const struct layer_row *row)
{
    return (row->weights[0] != NULL) + (row->weights[1] != NULL) + (row->weights[2] != NULL);
}

/* Returns how many arrays the row writes, from row->out on. */
static int outputs_of(const struct layer_row *row)
{
    if (row->kind == LAYER_MAPS)
        return row->joined ? row->joined : weights_of(row);
    return row->out != AT_NONE;
}

/* Returns the width of all arrays that the row writes. */
static int64_t width_out(const struct model_config *c, const struct layer_row *row)
{
    int64_t width = 0;
    for (int i = 0; i < outputs_of(row); i++)
        width += width_of(c, row->out + (enum layer_array)i);
    return width;
}

/* Returns 1 if the row is a norm of each head. */
static int is_of_heads(const struct layer_row *row)
{
    return row->kind == LAYER_NORM && arrays[row->in[0]].width != OF_STREAM;
}

/* Returns 1 if the row's output is kept for the backward; 0: computed again, or the caller's. */
static int is_kept(const struct layer_row *row)
{
    return row->kind == LAYER_MAPS || row->kind == LAYER_ATTEND || is_of_heads(row) ||
           (row->kind == LAYER_RESIDUAL && row->out != AT_OUTPUT);
}

/* Returns the row of a list that writes the array, or NULL for the layer's input. */
static const struct layer_row *writer_of(const struct layer_row *row, enum layer_array a)
{
    for (; row->kind; row++)
        if (a == row->out || (a > row->out && a < row->out + (enum layer_array)outputs_of(row)))
            return row;
    return NULL;
}

/* Returns 1 if rows of a list read the array only as the input of a matrix product, else 0. */
static int is_operand(const struct layer_row *row, enum layer_array a)
{
    int others = 0;
    for (; row->kind; row++)
        for (int i = 0; i < LAYER_READS; i++)
            others += row->in[i] == a &&
                      (i || (row->kind != LAYER_MAPS && row->kind != LAYER_RESIDUAL));
    return !others;
}

/* Returns the first row after this one that reads the array, or the list's end. */
static const struct layer_row *reader_after(const struct layer_row *row, enum layer_array a)
{
    do
        row++;
    while (row->kind && row->in[0] != a && row->in[1] != a && row->in[2] != a);
    return row;
}

/* Returns the number of norms that a row of the list computes: one for each of the rank's own rows
 * or, for queries and keys, for each head of all N rows. */
static int64_t norms_of(const struct model_config *c, const struct layer_row *row, int64_t own,
                        int64_t N)
{
    return is_of_heads(row) ? N * width_of(c, row->in[0]) / c->head_width : own;
}

/* ---- tensors ------------------------------------------------------------------------------ */

static int is_biased(const struct model_config *c, const struct layer_row *row)
{
    if (row->kind == LAYER_NORM)
        return !c->architecture->unbiased;
    if (row->kind == LAYER_MAPS && row->out == AT_QUERIES)
        return c->qkv_bias;
    return row->kind == LAYER_RESIDUAL && row->in[0] == AT_HEADS ? c->out_bias : c->mlp_bias;
}

/* Returns 1 if rounding weight i of the row costs much quality: the MLP's last map, and the maps of
 * keys and values, each of which several heads of queries read. */
static int is_precious(const struct model_config *c, const struct layer_row *row, int i)
{
    if (row->kind == LAYER_RESIDUAL)
        return row->in[0] == AT_ACTIVE;
    return !row->joined && arrays[row->out + (enum layer_array)i].width == OF_KEYS &&
           c->kv_heads < c->heads;
}

static void add_weight(struct model *m, const struct layer_row *row, int i, int64_t layer)
{
    const struct model_config *c = &m->config;
    const struct architecture *a = c->architecture;
    const int biased = is_biased(c, row), block = (int)layer + 1;
    char stem[TENSOR_NAME];
    snprintf(stem, sizeof stem, "%s%s", row->part == LAST_LAYER ? "" : a->names.layer,
             row->weights[i]);
    if (row->kind == LAYER_NORM) {
        block_add_norm(m, block, stem, layer,
                       is_of_heads(row) ? c->head_width : width_of(c, row->in[0]), biased,
                       is_of_heads(row));
        return;
    }
    const int64_t in = width_of(c, row->in[0]);
    const int64_t out = row->joined ? width_out(c, row)
                                    : width_of(c, row->out + (enum layer_array)i);
    const int end = row->kind == LAYER_RESIDUAL;
    const double std = c->init_std / (end && a->scaled_ends ? sqrt(2.0 * (double)c->layers) : 1);
    block_add_map(m, block, stem, layer, in, out, end && c->zero_ends ? 0 : std, biased, end);
    for (int k = 0; k <= biased; k++) {
        struct tensor *t = &m->tensors.rows[m->tensors.count - 1 - (size_t)k];
        t->maps = row->joined ? row->joined : 1;
        t->precious = is_precious(c, row, i);
        t->transposed = t->transposed && !a->untransposed;
    }
}

/* ---- a pass and its memory ---------------------------------------------------------------- */

enum { SLOTS = 12 };

/* An array during a pass. */
struct place {
    struct ops_array at;
    int there; /* 0: it has no memory yet */
    int slot;  /* of scratch memory; 0: the array is elsewhere, or a part of another one */
};

/* The state of one forward or backward pass through a layer. */
struct run {
    const struct model *m;
    const struct layer_row *rows; /* the list */
    struct ops *o;                /* NULL: the pass only counts its scratch memory */
    int64_t layer, N;
    struct ops_array w;
    const struct inputs *in;
    enum ops_type operand; /* the type of arrays that only products read */
    struct place x[LAYER_ARRAYS];
    struct ops_array lse;
    struct ops_moments moments[LAYER_ARRAYS]; /* of the norm that writes the array */

    /* For the backward. begun: a later row has set the array's gradient; partial: ranks along
     * SPLIT_HEADS have summands of it. late: the residual whose weights have no gradients yet,
     * because its input has to be computed again. */
    struct ops_gradient dw;
    struct place d[LAYER_ARRAYS], masked;
    int begun[LAYER_ARRAYS], partial[LAYER_ARRAYS];
    const struct layer_row *late;
    struct ops_array late_dy;
    /* Maps whose weights have no gradients yet: the norm before them computes their input again. */
    const struct layer_row *late_maps;

    /* Scratch memory. A slot is used again when its array is not needed any more. STREAM_SLOT is
     * the caller's dx, for gradients of the residual stream. */
    struct slot {
        struct ops_array at;
        int64_t bytes;
        int busy;
    } slots[SLOTS];
    int slot_count;
};
enum { NO_SLOT, STREAM_SLOT, FIRST_SLOT };

/* Returns a place for N rows of `width` numbers: in the smallest free slot that has room or, if
 * none has, in a new one. */
static struct place take(struct run *r, int64_t width, enum ops_type type)
{
    const int64_t bytes = r->N * width * (int64_t)ops_type_bytes(type);
    int best = r->slot_count;
    for (int s = FIRST_SLOT; s < r->slot_count; s++)
        if (!r->slots[s].busy && r->slots[s].bytes >= bytes &&
            (best == r->slot_count || r->slots[s].bytes < r->slots[best].bytes))
            best = s;
    assert(best < SLOTS);
    struct slot *slot = &r->slots[best];
    if (best == r->slot_count) {
        r->slot_count++;
        slot->bytes = bytes;
        slot->at = r->o ? ops_scratch(r->o, OPS_U8, bytes) : OPS_NONE;
    }
    slot->busy = 1;
    struct place p = { slot->at, 1, best };
    p.at.type = type;
    return p;
}

static void give(struct run *r, struct place *p)
{
    r->slots[p->slot].busy = 0;
    p->slot = NO_SLOT;
}

/* Returns the sum of all slots, in numbers of type F32 per token. The pass had one token. */
static int64_t scratch_of(const struct run *r)
{
    int64_t bytes = 0;
    for (int s = FIRST_SLOT; s < r->slot_count; s++)
        bytes += r->slots[s].bytes;
    return bytes / (int64_t)ops_type_bytes(OPS_F32);
}

/* Returns how far apart the rows of an array lie. */
static int64_t stride_of(const struct run *r, enum layer_array a)
{
    const struct layer_row *writer = writer_of(r->rows, a);
    const struct model_config *c = &r->m->config;
    return writer && writer->joined ? width_out(c, writer) : width_of(c, a);
}

/* Sets the places of the row's outputs after the first one. Each output follows the one before it:
 * as a whole or, if the row is `joined`, for each token. */
static void spread(const struct run *r, struct place p[LAYER_ARRAYS], const struct layer_row *row)
{
    for (int i = 1; i < outputs_of(row); i++) {
        const enum layer_array a = row->out + (enum layer_array)i;
        const int64_t width = width_of(&r->m->config, a - 1);
        p[a] = (struct place){ ops_part(p[a - 1].at, row->joined ? width : r->N * width), 1, 0 };
    }
}

/* Takes n numbers from a part of the cache, at a multiple of TENSOR_ALIGN. */
static struct ops_array take_cache(const struct model_cache *cache, int64_t used[CACHE_PARTS],
                                   enum model_cache_part part, int64_t n)
{
    struct ops_array at = ops_part(cache->part[part], used[part]);
    used[part] += (n + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN;
    return at;
}

/* Places the arrays that are kept in the cache. Sets used[] to how many numbers each part has. */
static void lay_out(struct run *r, const struct model_cache *cache, int64_t used[CACHE_PARTS])
{
    const struct model_config *c = &r->m->config;
    const int64_t own = split_most_rows(r->m, r->N);
    enum model_cache_part part = CACHE_ATTENTION;
    for (const struct layer_row *row = r->rows; row->kind; row++) {
        const int64_t norms = norms_of(c, row, own, r->N);
        struct ops_moments *moments = &r->moments[row->out];
        if (is_kept(row)) {
            const int64_t n = (arrays[row->out].own ? own : r->N) * width_out(c, row);
            r->x[row->out] = (struct place){ take_cache(cache, used, part, n), 1, NO_SLOT };
            spread(r, r->x, row);
        }
        if (row->kind == LAYER_NORM && !c->architecture->rms)
            moments->mean = take_cache(cache, used, CACHE_SUMS, norms);
        if (row->kind == LAYER_NORM)
            moments->rstd = take_cache(cache, used, CACHE_SUMS, norms);
        if (row->kind == LAYER_ATTEND) {
            r->lse = take_cache(cache, used, CACHE_SUMS, r->N * c->heads);
            part = CACHE_REST;
        }
    }
}

int64_t layer_cache(const struct model *m, int64_t B, int64_t T, int64_t parts[CACHE_PARTS])
{
    struct run r = { .m = m, .rows = m->config.architecture->layer, .N = B * T };
    int64_t used[CACHE_PARTS] = { 0 };
    lay_out(&r, &(struct model_cache){ 0 }, used);
    if (parts)
        memcpy(parts, used, sizeof used);
    return used[CACHE_ATTENTION] + used[CACHE_REST] + used[CACHE_SUMS];
}

/* ---- the rows ----------------------------------------------------------------------------- */

/* Returns the row of weight i in the tensor table. */
static size_t tensor_of(const struct run *r, const struct layer_row *row, int i)
{
    const struct model_config *c = &r->m->config;
    size_t tensor = r->m->tensors.first[r->layer + 1];
    for (const struct layer_row *before = r->rows; before < row; before++)
        tensor += (size_t)(weights_of(before) * (1 + is_biased(c, before)));
    return tensor + (size_t)(i * (1 + is_biased(c, row)));
}

static struct ops_linear map_of(const struct run *r, const struct layer_row *row, int i)
{
    return block_linear(r->m, r->w, tensor_of(r, row, i), r->N);
}

static struct ops_norm norm_of(const struct run *r, const struct layer_row *row)
{
    const int64_t own = split_rows(r->m, r->N).count;
    struct ops_norm l = block_norm(r->m, r->w, tensor_of(r, row, 0), 0);
    l.N = norms_of(&r->m->config, row, own, r->N);
    return l;
}

static void norm_fwd(struct run *r, const struct layer_row *row)
{
    const struct ops_norm l = norm_of(r, row);
    struct ops_array y = r->x[row->out].at, x = r->x[row->in[0]].at;
    if (arrays[row->out].own || is_of_heads(row))
        split_norm_of_rows(r->m, r->o, y, r->moments[row->out], x, &l);
    else
        split_norm_fwd(r->m, r->o, y, r->moments[row->out], x, &l, r->N);
}

/* Returns the row whose backward computes the gradients of a map's biases; NULL: the map's own row.
 * On a GPU a product would read the gradient once more, so other rows do it: for maps, an
 * activation or attention that reads their output; for a residual, a norm that adds to the
 * gradient. */
static const struct layer_row *maker_of(const struct run *r, const struct layer_row *map)
{
    if (!is_biased(&r->m->config, map) || ops_on_host(r->o))
        return NULL;
    if (map->kind == LAYER_MAPS) {
        const struct layer_row *reader = reader_after(map, map->out);
        return reader->kind == LAYER_ACTIVATE || reader->kind == LAYER_ATTEND ? reader : NULL;
    }
    if (r->m->split || block_residual_dropout(r->m, r->layer, map->drop, r->in).rate > 0)
        return NULL;
    for (const struct layer_row *row = r->rows; row < map; row++)
        if (row->kind == LAYER_NORM && row->in[0] == map->in[1] &&
            reader_after(row, map->in[1]) == map)
            return row;
    return NULL;
}

/* Returns the gradient of the biases of a row's map number i. */
static struct ops_gradient bias_of(const struct run *r, const struct layer_row *map, int i)
{
    return block_gradient(r->m, r->dw, tensor_of(r, map, i) + 1);
}

/* Computes the gradients dx of the input and those of the parameters of a row's map number i. */
static void map_bwd(const struct run *r, const struct layer_row *row, int i, struct ops_gradient dx,
                    struct ops_array dy, struct ops_array x)
{
    const struct ops_linear map = map_of(r, row, i);
    const size_t tensor = tensor_of(r, row, i);
    if (maker_of(r, row))
        ops_linear_bwd(r->o, dx, block_gradient(r->m, r->dw, tensor), no_gradient(), dy, x, &map);
    else
        block_linear_bwd(r->m, r->o, dx, r->dw, tensor, dy, x, &map);
}

static void norm_bwd(struct run *r, const struct layer_row *row)
{
    const struct ops_norm l = norm_of(r, row);
    const enum layer_array in = row->in[0];
    const struct layer_row *next = reader_after(row, in);
    struct ops_norm_bwd b = { .dx = { r->d[in].at, r->begun[in] },
                              .dy = r->d[row->out].at,
                              .x = r->x[in].at,
                              .kept = r->moments[row->out],
                              .y = r->late_maps ? r->x[row->out].at : OPS_NONE };
    if (next->kind == LAYER_RESIDUAL && maker_of(r, next) == row)
        b.before = bias_of(r, next, 0);
    if (r->partial[row->out])
        b.dy = split_gradient_end(r->m, r->o, b.dy, r->N, l.C);
    block_norm_bwd(r->m, r->o, r->dw, tensor_of(r, row, 0), b, &l);
}

/* Returns all rows of the array that the maps read. */
static struct ops_array all_rows(const struct run *r, const struct layer_row *row)
{
    const enum layer_array in = row->in[0];
    if (!arrays[in].own)
        return r->x[in].at;
    return split_all_rows(r->m, r->o, r->operand, r->x[in].at, r->N, r->m->config.width,
                          "rows of a layer");
}

/* Returns 1 if the activation of a map's output is computed together with the map. */
static int is_joint(const struct run *r, const struct layer_row *map)
{
    return map->kind == LAYER_MAPS && weights_of(map) == 1 && map[1].kind == LAYER_ACTIVATE &&
           map[1].in[0] == map->out && !r->m->split;
}

/* Computes the maps. They read a norm of the residual stream, a few channels of which are much
 * larger than the others. Rounding x to 8 bits would take most bits of the small ones: `fine` is
 * 1. */
static void maps_fwd(struct run *r, const struct layer_row *row)
{
    struct ops_linear maps[LAYER_READS];
    for (int i = 0; i < weights_of(row); i++) {
        maps[i] = map_of(r, row, i);
        maps[i].fine = 1;
    }
    if (is_joint(r, row)) {
        ops_linear_activation_fwd(r->o, r->m->config.activation, r->x[row[1].out].at,
                                  r->x[row->out].at, r->x[row->in[0]].at, maps);
        return;
    }
    split_linear_fwd(r->m, r->o, r->x[row->out].at, all_rows(r, row), maps, weights_of(row));
}

/* Computes the gradients of maps. If the gradient of their input exists already, each rank has its
 * rows of the sum over the ranks, and the maps add to it; else they begin it, and the row before
 * them sums it over the ranks. */
static void maps_bwd(struct run *r, const struct layer_row *row)
{
    const enum layer_array in = row->in[0];
    const int64_t C = r->m->config.width;
    const int sum_now = r->begun[in] && !r->partial[in];
    struct ops_array x = all_rows(r, row), d = r->d[in].at;
    if (sum_now)
        d = split_gradient_begin(r->m, r->o, d, r->N, C);
    for (int i = 0; i < weights_of(row); i++) {
        const struct ops_gradient dx = { d, i || r->begun[in] };
        const struct ops_array dy = r->d[row->out + (enum layer_array)i].at;
        const struct ops_linear map = map_of(r, row, i);
        if (r->late_maps == row)
            ops_linear_bwd(r->o, dx, no_gradient(), no_gradient(), dy, OPS_NONE, &map);
        else
            map_bwd(r, row, i, dx, dy, x);
    }
    if (sum_now) {
        split_gradient_end(r->m, r->o, d, r->N, C);
        split_own_rows(r->m, r->o, r->d[in].at, d, r->N, C);
    }
    r->partial[in] = !sum_now;
}

static void rotate(struct run *r, const struct layer_row *row, const struct place p[LAYER_ARRAYS],
                   int back)
{
    const struct model_config *c = &r->m->config;
    if (c->rope_pause && (r->layer + 1) % c->rope_pause == 0)
        return;
    const struct ops_tokens *t = &r->in->tokens;
    const int longer = model_is_longer(c, t->first + t->T);
    for (int i = 0; i < 2; i++) {
        const struct ops_rotary rotary = { .heads = i ? c->kv_heads : c->heads,
                                           .HS = c->head_width,
                                           .ld = stride_of(r, row->in[i]),
                                           .base = model_is_local(c, r->layer) ? c->local_theta
                                                                               : c->rope_theta,
                                           .stretch = longer ? c->rope_longer : c->rope_stretch,
                                           .back = back };
        ops_rotate(r->o, p[row->in[i]].at, t, &rotary);
    }
}

static void rotate_fwd(struct run *r, const struct layer_row *row)
{
    rotate(r, row, r->x, 0);
}

static void rotate_bwd(struct run *r, const struct layer_row *row)
{
    rotate(r, row, r->d, 1);
}

static struct ops_qkv qkv_of(const struct run *r, const struct layer_row *row,
                             const struct place p[LAYER_ARRAYS])
{
    return (struct ops_qkv){ p[row->in[0]].at, p[row->in[1]].at, p[row->in[2]].at,
                             stride_of(r, row->in[0]), stride_of(r, row->in[1]) };
}

static void attend_fwd(struct run *r, const struct layer_row *row)
{
    const struct ops_attention a = block_attention(r->m, r->layer, r->in);
    const struct ops_qkv x = qkv_of(r, row, r->x);
    if (r->in->past)
        ops_attention_cached(r->o, r->x[row->out].at, r->in->past, r->layer, x, &a);
    else
        ops_attention_fwd(r->o, r->x[row->out].at, r->lse, x, &a);
}

static void attend_bwd(struct run *r, const struct layer_row *row)
{
    const struct ops_attention a = block_attention(r->m, r->layer, r->in);
    const struct layer_row *map = writer_of(r->rows, row->in[0]);
    const int made = maker_of(r, map) == row;
    struct ops_gradient sums[LAYER_READS];
    int64_t at = 0;
    for (int i = 0; i < LAYER_READS && made; i++) {
        sums[i] = map->joined ? ops_gradient_part(bias_of(r, map, 0), at) : bias_of(r, map, i);
        at += width_of(&r->m->config, row->in[i]);
    }
    ops_attention_bwd(r->o, qkv_of(r, row, r->d), made ? sums : NULL, r->d[row->out].at,
                      qkv_of(r, row, r->x), r->x[row->out].at, r->lse, &a);
}

static struct ops_gate gate_of(const struct run *r, const struct layer_row *row)
{
    const struct model_config *c = &r->m->config;
    return (struct ops_gate){ c->activation, r->N, c->inner, stride_of(r, row->in[0]) };
}

/* Computes the activation of an array, and its product with another one if it is a gate. */
static void activate_fwd(struct run *r, const struct layer_row *row)
{
    const struct ops_gate g = gate_of(r, row);
    if (!is_joint(r, row - 1))
        ops_gated_fwd(r->o, &g, r->x[row->out].at, r->x[row->in[0]].at, r->x[row->in[1]].at);
}

static void activate_bwd(struct run *r, const struct layer_row *row)
{
    const struct ops_gate g = gate_of(r, row);
    const struct layer_row *map = writer_of(r->rows, row->in[0]);
    ops_gated_bwd(r->o, &g, r->d[row->in[0]].at, r->d[row->in[1]].at, r->x[row->out].at,
                  maker_of(r, map) == row ? bias_of(r, map, 0) : no_gradient(), r->d[row->out].at,
                  r->x[row->in[0]].at, r->x[row->in[1]].at);
}

static void residual_fwd(struct run *r, const struct layer_row *row)
{
    const struct ops_linear map = map_of(r, row, 0);
    struct ops_array base = r->x[row->in[1]].at;
    if (!arrays[row->in[1]].own)
        base = ops_part(base, split_rows(r->m, r->N).first * map.O);
    split_residual_fwd(r->m, r->o, r->x[row->out].at, base, r->x[row->in[0]].at, &map,
                       block_residual_dropout(r->m, r->layer, row->drop, r->in));
}

static void residual_bwd(struct run *r, const struct layer_row *row)
{
    const struct ops_linear map = map_of(r, row, 0);
    r->late_dy = split_branch_gradient(r->m, r->o, r->masked.at, r->d[row->out].at, r->N, map.O,
                                       block_residual_dropout(r->m, r->layer, row->drop, r->in));
    split_linear_bwd(r->m, r->o, r->d[row->in[0]].at, r->late_dy, &map);
}

static const struct {
    const char *name;
    void (*fwd)(struct run *r, const struct layer_row *row);
    void (*bwd)(struct run *r, const struct layer_row *row);
} kinds[LAYER_KINDS] = {
    [LAYER_NORM] = { "norm", norm_fwd, norm_bwd },
    [LAYER_MAPS] = { "maps", maps_fwd, maps_bwd },
    [LAYER_ROTATE] = { "rotate", rotate_fwd, rotate_bwd },
    [LAYER_ATTEND] = { "attend", attend_fwd, attend_bwd },
    [LAYER_ACTIVATE] = { "activate", activate_fwd, activate_bwd },
    [LAYER_GATE] = { "gate", activate_fwd, activate_bwd },
    [LAYER_RESIDUAL] = { "residual", residual_fwd, residual_bwd },
};

/* ---- forward ------------------------------------------------------------------------------ */

/* Returns 1 if a row after this one reads an array that `writer` writes. */
static int is_read_after(const struct layer_row *row, const struct layer_row *writer)
{
    while ((++row)->kind)
        for (int i = 0; i < LAYER_READS; i++)
            if (row->in[i] >= writer->out &&
                row->in[i] < writer->out + (enum layer_array)outputs_of(writer))
                return 1;
    return 0;
}

/* Takes places for the row's outputs, if they have none. */
static void take_outputs(struct run *r, const struct layer_row *row)
{
    if (!row->out || r->x[row->out].there)
        return;
    const int operand = !is_kept(row) && is_operand(r->rows, row->out);
    r->x[row->out] = take(r, width_out(&r->m->config, row), operand ? r->operand : OPS_F32);
    spread(r, r->x, row);
}

static void forward_row(struct run *r, const struct layer_row *row)
{
    take_outputs(r, row);
    if (is_joint(r, row))
        take_outputs(r, row + 1);
    if (r->o)
        kinds[row->kind].fwd(r, row);
    for (int i = 0; i < LAYER_READS && row->in[i]; i++) {
        const struct layer_row *writer = writer_of(r->rows, row->in[i]);
        if (writer && r->x[writer->out].slot && !is_read_after(row, writer))
            give(r, &r->x[writer->out]);
    }
}

/* Begins a pass. */
static struct run run_of(const struct model *m, struct ops *o, int64_t layer, struct ops_array x,
                         struct ops_array w, const struct model_cache *cache,
                         const struct inputs *in)
{
    struct run r = { .m = m, .o = o, .layer = layer, .N = in->N, .w = w, .in = in };
    r.rows = m->lists[list_of(m, layer)];
    int64_t used[CACHE_PARTS] = { 0 };
    ops_scratch_begin(o);
    r.operand = in->past ? OPS_F32 : ops_operand(o);
    r.slot_count = FIRST_SLOT;
    r.x[AT_INPUT] = (struct place){ x, 1, NO_SLOT };
    if (!ops_is_none(cache->part[CACHE_SUMS]))
        lay_out(&r, cache, used);
    return r;
}

void layer_fwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array y,
               struct ops_array x, struct ops_array w, struct model_cache cache,
               const struct inputs *in)
{
    struct run r = run_of(m, o, layer, x, w, &cache, in);
    r.x[AT_OUTPUT] = (struct place){ y, 1, NO_SLOT };
    for (const struct layer_row *row = r.rows; row->kind; row++)
        forward_row(&r, row);
}

void layer_attention_fwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array x,
                         struct ops_array w, struct model_cache cache, const struct inputs *in)
{
    struct run r = run_of(m, o, layer, x, w, &cache, in);
    const struct layer_row *row = r.rows;
    do
        forward_row(&r, row);
    while ((row++)->kind != LAYER_ATTEND);
}

int64_t layer_scratch_fwd(const struct model *m)
{
    int64_t most = 0;
    for (int list = 0; list < LAYER_LISTS; list++) {
        struct run r = { .m = m, .rows = m->lists[list], .N = 1, .slot_count = FIRST_SLOT };
        r.x[AT_INPUT].there = r.x[AT_OUTPUT].there = 1;
        for (const struct layer_row *row = r.rows; row->kind; row++)
            forward_row(&r, row);
        most = larger(most, scratch_of(&r));
    }
    return most;
}

/* ---- backward ----------------------------------------------------------------------------- */

/* Returns the number of the input whose gradient takes the place of the output's gradient: the base
 * of a residual, where it is the same, or the input of an activation. -1: none. */
static int passed_on(const struct run *r, const struct layer_row *row)
{
    if (row->kind == LAYER_GATE && stride_of(r, row->in[0]) != r->m->config.inner)
        return -1; /* its rows are longer */
    return row->kind == LAYER_RESIDUAL                              ? 1
           : row->kind == LAYER_ACTIVATE || row->kind == LAYER_GATE ? 0
                                                                    : -1;
}

/* Returns the type of gradients between products. A GPU's products and attention would round them
 * anyway, and BF16 halves the bytes that they read. Ranks that share a layer use F32, because they
 * add their parts of some gradients before rounding. */
static enum ops_type branch_type(const struct run *r)
{
    return !r->o || r->m->split || ops_on_host(r->o) ? OPS_F32 : r->operand;
}

/* Takes a place for the gradient of input i of the row. */
static struct place take_gradient(struct run *r, const struct layer_row *row, int i)
{
    const enum layer_array a = row->in[i];
    struct place d = r->d[row->out];
    if (i == passed_on(r, row)) {
        r->d[row->out].slot = NO_SLOT;
        return d;
    }
    if (arrays[a].own && !r->slots[STREAM_SLOT].busy) {
        r->slots[STREAM_SLOT].busy = 1;
        return (struct place){ r->slots[STREAM_SLOT].at, 1, STREAM_SLOT };
    }
    return take(r, stride_of(r, a),
                arrays[a].product ? r->operand
                : arrays[a].own   ? OPS_F32
                                  : branch_type(r));
}

/* Computes the output of a norm again. */
static void norm_again(struct run *r, const struct layer_row *row)
{
    take_outputs(r, row);
    r->moments[row->out].known = 1;
    if (r->o)
        norm_fwd(r, row);
}

/* Provides the arrays that the backward of a row reads and writes. The output of an activation
 * overwrites its input if it has the right type. */
static void prepare(struct run *r, const struct layer_row *row)
{
    for (int i = 0; i < LAYER_READS && row->in[i]; i++)
        if (!r->d[row->in[i]].there) {
            r->d[row->in[i]] = take_gradient(r, row, i);
            if (stride_of(r, row->in[i]) != width_of(&r->m->config, row->in[i]))
                spread(r, r->d, writer_of(r->rows, row->in[i]));
        }
    const struct place *x = &r->x[row->in[0]];
    if (row->kind == LAYER_RESIDUAL) {
        r->masked = take(r, r->m->config.width, branch_type(r));
        r->late = row;
    } else if (row->kind == LAYER_ACTIVATE || row->kind == LAYER_GATE) {
        const int replaces = x->at.type == r->operand && passed_on(r, row) == 0;
        r->x[row->out] = replaces ? (struct place){ x->at, 1, NO_SLOT }
                                  : take(r, r->m->config.inner, r->operand);
    } else if (row->kind == LAYER_MAPS && !x->there) {
        const struct layer_row *norm = writer_of(r->rows, row->in[0]);
        if (!r->m->split && norm == row - 1)
            r->late_maps = row;
        else
            norm_again(r, norm);
    } else if (r->late_maps) {
        take_outputs(r, row); /* the norm's output, which norm_bwd computes again */
    }
}

/* Computes the gradients of the late residual's weights, if its input is there. */
static void finish_late(struct run *r)
{
    const struct layer_row *row = r->late;
    if (!row || !r->x[row->in[0]].there)
        return;
    if (r->o)
        map_bwd(r, row, 0, no_gradient(), r->late_dy, r->x[row->in[0]].at);
    give(r, &r->masked);
    r->late = NULL;
}

static void give_outputs(struct run *r, const struct layer_row *row)
{
    for (int i = 0; i < outputs_of(row); i++) {
        give(r, &r->x[row->out + (enum layer_array)i]);
        give(r, &r->d[row->out + (enum layer_array)i]);
    }
}

/* Computes the gradients of the late maps' weights. */
static void finish_maps(struct run *r)
{
    const struct layer_row *row = r->late_maps;
    for (int i = 0; i < weights_of(row) && r->o; i++)
        map_bwd(r, row, i, no_gradient(), r->d[row->out + (enum layer_array)i].at,
                r->x[row->in[0]].at);
    give_outputs(r, row);
    r->late_maps = NULL;
}

static void backward_row(struct run *r, const struct layer_row *row)
{
    prepare(r, row);
    if (r->o)
        kinds[row->kind].bwd(r, row);
    finish_late(r);
    if (r->late_maps && r->late_maps != row)
        finish_maps(r);
    for (int i = 0; i < LAYER_READS; i++)
        r->begun[row->in[i]] = 1;
    if (r->late_maps != row)
        give_outputs(r, row);
}

/* Reads the list upwards. The gradient of the layer's output is in STREAM_SLOT at the beginning,
 * and that of its input at the end. */
static void backward(struct run *r, struct ops_array dx)
{
    const struct layer_row *first = r->rows, *row = first;
    r->slots[STREAM_SLOT] = (struct slot){ .at = dx, .busy = 1 };
    r->d[AT_OUTPUT] = (struct place){ dx, 1, STREAM_SLOT };
    while (row->kind)
        row++;
    while (row-- > first)
        backward_row(r, row);
    if (r->o && r->d[AT_INPUT].slot != STREAM_SLOT) /* a norm at the end alone */
        ops_copy(r->o, dx, r->d[AT_INPUT].at, split_rows(r->m, r->N).count * r->m->config.width);
}

void layer_bwd(const struct model *m, struct ops *o, int64_t layer, struct ops_array dx,
               struct ops_gradient dw, struct ops_array x, struct ops_array w,
               struct model_cache cache, const struct inputs *in)
{
    struct run r = run_of(m, o, layer, x, w, &cache, in);
    r.dw = dw;
    backward(&r, dx);
}

/* With sequence parallelism, also counts the rows that maps gather from the residual stream, and
 * the sums of gradients that are added to it. */
int64_t layer_scratch_bwd(const struct model *m)
{
    int64_t most = 0;
    for (int list = 0; list < LAYER_LISTS; list++) {
        struct run r = { .m = m, .rows = m->lists[list], .N = 1, .slot_count = FIRST_SLOT };
        int64_t used[CACHE_PARTS] = { 0 }, gathered = 0;
        r.x[AT_INPUT].there = 1;
        lay_out(&r, &(struct model_cache){ 0 }, used);
        backward(&r, OPS_NONE);
        for (const struct layer_row *row = r.rows; row->kind && split_sequence(m); row++)
            if (row->kind == LAYER_MAPS)
                gathered += m->config.width * (arrays[row->in[0]].own + !r.partial[row->in[0]]);
        most = larger(most, scratch_of(&r) + gathered);
    }
    return most;
}

/* ---- the list itself ---------------------------------------------------------------------- */

/* Replaces the array `from` by `to` in n rows. */
static void rename_array(struct layer_row *rows, int n, enum layer_array from, enum layer_array to)
{
    for (struct layer_row *row = rows; row < rows + n; row++) {
        row->out = row->out == from ? to : row->out;
        for (int i = 0; i < LAYER_READS; i++)
            row->in[i] = row->in[i] == from ? to : row->in[i];
    }
}

/* Returns the list for layers that are first, last, both or neither: the architecture's list
 * without the norms that these layers lack. */
static const struct layer_row *make_list(const struct layer_row *all, int list)
{
    int count = 0, parts = 0, n = 0;
    for (; all[count].kind; count++)
        parts += all[count].part;
    if (!parts)
        return all;
    struct layer_row *made = mem_zalloc((size_t)count + 1, sizeof *made);
    memcpy(made, all, (size_t)count * sizeof *made);
    for (int i = 0; i < count; i++) {
        const struct layer_row row = made[i];
        const int has = row.part == NOT_FIRST_LAYER ? !(list & LAYER_FIRST)
                        : row.part == LAST_LAYER    ? list & LAYER_LAST
                                                    : 1;
        if (has)
            made[n++] = row;
        else if (row.out == AT_OUTPUT)
            rename_array(made, n, row.in[0], row.out);
        else
            rename_array(made + i, count - i, row.out, row.in[0]);
    }
    made[n].kind = LAYER_END;
    return made;
}

void layer_init(struct model *m)
{
    for (int list = 0; list < LAYER_LISTS; list++)
        m->lists[list] = make_list(m->config.architecture->layer, list);
    for (int64_t layer = 0; layer < m->config.layers; layer++)
        for (const struct layer_row *row = m->lists[list_of(m, layer)]; row->kind; row++)
            for (int i = 0; i < weights_of(row); i++)
                add_weight(m, row, i, layer);
    tensor_block(&m->tensors, (int)m->config.layers + 1);
    m->first_head_row = m->tensors.count;
}

void layer_release(struct model *m)
{
    for (int list = 0; list < LAYER_LISTS && m->lists[list]; list++)
        if (m->lists[list] != m->config.architecture->layer)
            free((void *)(uintptr_t)m->lists[list]);
}

struct layer_widths layer_widths(const struct model_config *c)
{
    struct layer_widths w = { 0 };
    for (const struct layer_row *row = c->architecture->layer; row->kind; row++)
        if (row->kind == LAYER_MAPS)
            *(row->out == AT_QUERIES ? &w.qkv : &w.first) += width_out(c, row);
        else if (row->kind == LAYER_RESIDUAL)
            *(row->in[0] == AT_HEADS ? &w.attention : &w.inner) += width_of(c, row->in[0]);
    return w;
}

/* Appends the names of up to `count` arrays, separated by commas. */
static void print_arrays(struct buf *out, const enum layer_array *a, int count)
{
    for (int i = 0; i < count && a[i]; i++)
        buf_addf(out, "%s%s", i ? ", " : "", arrays[a[i]].name);
}

void layer_print(const struct model *m, struct buf *out)
{
    for (const struct layer_row *row = m->config.architecture->layer; row->kind; row++) {
        enum layer_array written[LAYER_READS] = { row->in[0], row->in[1] };
        for (int i = 0; i < outputs_of(row); i++)
            written[i] = row->out + (enum layer_array)i;
        buf_adds(out, "  ");
        print_arrays(out, written, row->out ? outputs_of(row) : LAYER_READS);
        buf_addf(out, " = %s(", kinds[row->kind].name);
        print_arrays(out, row->in, LAYER_READS);
        buf_adds(out, ")");
        for (int i = 0; i < weights_of(row); i++)
            buf_addf(out, ", %s", row->weights[i]);
        buf_adds(out, is_kept(row) ? ", kept\n" : "\n");
    }
}
