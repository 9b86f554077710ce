#include "model/network/inputs.h"

#include "model/network/model.h"

/* Returns host memory for the n elements of array *a, to be filled and passed to close_array. Grows
 * the array if needed. */
static void *open_array(struct ops *o, struct ops_room *a, enum ops_type type, int64_t n)
{
    return ops_fill(o, ops_room(o, a, type, n), n);
}

static struct ops_array close_array(struct ops *o, struct ops_room *a, int64_t n, void *filled)
{
    ops_unmap(o, a->at, n, filled);
    return a->at;
}

/* Copies from[B,T] without the batch's padding to to[N]. */
static void copy_tokens(const struct batch *b, uint32_t *to, const uint32_t *from)
{
    for (int64_t s = 0; s < b->B; from += batch_step(b, s++)) {
        const int64_t n = b->lengths ? b->lengths[s] : b->T;
        memcpy(to, from, (size_t)n * sizeof *to);
        to += n;
    }
}

/* Sets to[N] to the positions of the tokens in their sequences. */
static void count_places(const struct inputs *in, uint32_t *to)
{
    for (int64_t b = 0; b < in->rows.B; b++)
        for (int64_t t = 0; t < ops_rows_of(&in->rows, b); t++)
            *to++ = (uint32_t)(t + (in->past ? in->past[b].used : 0));
}

/* Copies from[B,T] without the batch's padding to the array *a, or the tokens' positions if `from`
 * is NULL, and returns this array of the compute context. */
static struct ops_array set_tokens(struct inputs *in, struct ops *o, struct ops_room *a,
                                   const struct batch *b, const uint32_t *from)
{
    uint32_t *to = open_array(o, a, OPS_U32, in->N);
    if (from)
        copy_tokens(b, to, from);
    else
        count_places(in, to);
    return close_array(o, a, in->N, to);
}

/* For each token that has a label in from[B,T] and is not padding, sets rows[] to its row of the
 * activations and labels[] to its label. Returns the number of these tokens. */
static int64_t pick(const struct inputs *in, int64_t *rows, int32_t *labels, const struct batch *b,
                    const int32_t *from)
{
    int64_t n = 0;
    for (int64_t s = 0, row = 0; s < in->rows.B; from += batch_step(b, s++))
        for (int64_t t = 0; t < ops_rows_of(&in->rows, s); t++, row++) {
            if (from[t] < 0)
                continue;
            rows[n] = row;
            labels[n++] = from[t];
        }
    return n;
}

/* Sets rows[b] to the row of the first token of sequence b, and labels[b] to from[b]. Returns the
 * number of sequences. */
static int64_t take(const struct inputs *in, int64_t *rows, int32_t *labels, const struct batch *,
                    const int32_t *from)
{
    for (int64_t b = 0, row = 0; b < in->rows.B; row += ops_rows_of(&in->rows, b++)) {
        rows[b] = row;
        labels[b] = from[b];
    }
    return in->rows.B;
}

static void set_targets(struct inputs *in, struct ops *o, int part, const struct batch *b,
                        const int32_t *from, int over_tokens)
{
    const int64_t most = over_tokens ? in->N : in->rows.B;
    struct ops_labels *l = &in->targets[part];
    int64_t *rows = open_array(o, &in->target_rows[part], OPS_I64, most);
    int32_t *labels = open_array(o, &in->labels[part], OPS_I32, most);
    l->n = (over_tokens ? pick : take)(in, rows, labels, b, from);
    for (int64_t i = 0; i < l->n; i++)
        in->labelled[part] += labels[i] >= 0;
    l->rows = close_array(o, &in->target_rows[part], most, rows);
    l->labels = close_array(o, &in->labels[part], most, labels);
    if (l->n == in->N) /* label i belongs to row i */
        l->rows = OPS_NONE;
}

/* Sets *p to the tokens whose number is in [first, first + count): their rows, and the numbers
 * minus `first`. */
static void pick_tokens(struct inputs *in, struct ops *o, struct inputs_picked *p,
                        const uint32_t *numbers, int64_t first, int64_t count)
{
    int64_t *rows = open_array(o, &p->row_room, OPS_I64, in->N);
    uint32_t *ids = open_array(o, &p->id_room, OPS_U32, in->N);
    p->n = 0;
    for (int64_t row = 0; row < in->N; row++) {
        int64_t id = numbers[row] - first;
        if (id < 0 || id >= count)
            continue;
        rows[p->n] = row;
        ids[p->n++] = (uint32_t)id;
    }
    p->rows = close_array(o, &p->row_room, in->N, rows);
    p->ids = close_array(o, &p->id_room, in->N, ids);
}

/* Selects the tokens for each table that ranks share. */
static void pick_parts(struct inputs *in, struct ops *o, const struct model *m,
                       const struct batch *b)
{
    const struct model_config *c = &m->config;
    SCOPED_MEM uint32_t *words = mem_zalloc((size_t)(3 * in->N), sizeof *words);
    uint32_t *places = words + in->N, *types = places + in->N;
    copy_tokens(b, words, b->ids);
    count_places(in, places);
    if (b->segments && c->types > 1)
        copy_tokens(b, types, b->segments);
    pick_tokens(in, o, &in->words, words, m->first_word, c->vocabulary);
    pick_tokens(in, o, &in->places_had, places, m->first_place, c->positions);
    if (c->types)
        pick_tokens(in, o, &in->types, types, 0, c->types);
}

void inputs_set(struct inputs *in, struct ops *o, const struct model *m, const struct batch *b)
{
    in->rows = (struct ops_rows){ b->B, b->T, b->lengths };
    in->N = ops_rows_count(&in->rows);
    in->past = NULL;
    in->tokens = (struct ops_tokens){ .N = in->N, .T = b->T };
    in->tokens.ids = set_tokens(in, o, &in->ids, b, b->ids);
    if (b->segments && m->config.types > 1)
        in->tokens.segments = set_tokens(in, o, &in->segments, b, b->segments);
    if (b->lengths)
        in->tokens.places = set_tokens(in, o, &in->places, b, NULL);
    if (m->split)
        pick_parts(in, o, m, b);
    in->key = b->key;
    in->dropout = b->dropout;
    in->next_weight = b->next_weight;
    in->values = b->values;
    for (int p = 0; p < m->parts; p++) {
        const enum batch_label kind = m->part[p].labels;
        const int32_t *labels = batch_labels(b, kind);
        in->targets[p] = (struct ops_labels){ 0 };
        in->labelled[p] = 0;
        if (labels)
            set_targets(in, o, p, b, labels, kind == LABEL_TOKEN);
    }
}

void inputs_follow(struct inputs *in, struct ops *o, const struct ops_past *past, int64_t B,
                   const uint32_t *ids, int64_t n)
{
    in->rows = (struct ops_rows){ B, n, NULL };
    in->N = B * n;
    in->past = past;
    in->tokens = (struct ops_tokens){ .N = in->N, .T = n, .first = ops_most_room(past, B) - n };
    uint32_t *to = open_array(o, &in->ids, OPS_U32, 2 * in->N);
    memcpy(to, ids, (size_t)in->N * sizeof *to);
    count_places(in, to + in->N);
    in->tokens.ids = close_array(o, &in->ids, 2 * in->N, to); /* one copy for both */
    in->tokens.places = ops_part(in->tokens.ids, in->N);
}

void inputs_release(struct inputs *in, struct ops *o)
{
    struct inputs_picked *const picked[] = { &in->words, &in->places_had, &in->types };
    ops_room_free(o, &in->ids);
    ops_room_free(o, &in->segments);
    ops_room_free(o, &in->places);
    for (int p = 0; p < MODEL_PARTS; p++) {
        ops_room_free(o, &in->target_rows[p]);
        ops_room_free(o, &in->labels[p]);
    }
    for (int i = 0; i < 3; i++) {
        ops_room_free(o, &picked[i]->row_room);
        ops_room_free(o, &picked[i]->id_room);
    }
    *in = (struct inputs){ 0 };
}

struct ops_scores inputs_scores(const struct inputs *in, struct ops_scores all, int part)
{
    int64_t first = 0;
    for (int p = 0; p < part; p++)
        first += in->targets[p].n;
    return (struct ops_scores){ ops_part(all.losses, first), ops_part(all.correct, first) };
}
