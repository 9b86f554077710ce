#include "tfrecord/layouts/bert_record.h"

#include "tfrecord/formats/example.h"

enum { POSITION_PAD = 384 };

const char *bert_layout_name(enum bert_layout layout)
{
    static const char *const names[] = { "bert", "bert-tf1", "bert-packed" };
    return names[layout];
}

void bert_record_init(struct bert_record *r, enum bert_layout layout, uint32_t sequence_length,
                      uint32_t mask_tokens, uint32_t pad)
{
    *r = (struct bert_record){ layout, sequence_length, mask_tokens, pad, { 0 }, { 0 } };
    size_t most = sequence_length + (size_t)mask_tokens + PACKING_MAX;
    for (size_t i = 0; i < sizeof r->ints / sizeof *r->ints; i++)
        r->ints[i] = mem_zalloc(most, sizeof **r->ints);
    for (size_t i = 0; i < sizeof r->floats / sizeof *r->floats; i++)
        r->floats[i] = mem_zalloc(most, sizeof **r->floats);
}

void bert_record_release(struct bert_record *r)
{
    for (size_t i = 0; i < sizeof r->ints / sizeof *r->ints; i++)
        free(r->ints[i]);
    for (size_t i = 0; i < sizeof r->floats / sizeof *r->floats; i++)
        free(r->floats[i]);
}

static void fill(int64_t *values, size_t n, int64_t v)
{
    for (size_t i = 0; i < n; i++)
        values[i] = v;
}

/* Sets out[0..n) to values[0..n), and out[n..most) to zeros. */
static void widen(int64_t *out, const uint32_t *values, size_t n, size_t most)
{
    for (size_t i = 0; i < n; i++)
        out[i] = values[i];
    fill(out + n, most - n, 0);
}

/* Sets out[0..n) to ones, and out[n..most) to zeros. */
static void weigh(float *out, size_t n, size_t most)
{
    for (size_t i = 0; i < most; i++)
        out[i] = i < n;
}

/* ---- bert --------------------------------------------------------------------------------- */

static void encode_plain(struct bert_record *r, const struct instances *all,
                         const struct instance *x, struct buf *message)
{
    size_t S = r->sequence_length, M = r->mask_tokens;
    int64_t *ids = r->ints[0], *mask = r->ints[1], *segments = r->ints[2];
    int64_t *positions = r->ints[3], *labels = r->ints[4], next = x->random;
    widen(ids, instance_tokens(all, x), x->length, S);
    fill(ids + x->length, S - x->length, r->pad);
    fill(mask, x->length, 1);
    fill(mask + x->length, S - x->length, 0);
    fill(segments, S, 0);
    fill(segments + x->second, x->length - x->second, 1);
    widen(positions, instance_positions(all, x), x->masked, M);
    widen(labels, instance_labels(all, x), x->masked, M);
    weigh(r->floats[0], x->masked, M);
    struct feature features[] = {
        { "input_ids", FEATURE_INTS, ids, S },
        { "input_mask", FEATURE_INTS, mask, S },
        { "masked_lm_ids", FEATURE_INTS, labels, M },
        { "masked_lm_positions", FEATURE_INTS, positions, M },
        { "masked_lm_weights", FEATURE_FLOATS, r->floats[0], M },
        { "next_sentence_labels", FEATURE_INTS, &next, 1 },
        { "segment_ids", FEATURE_INTS, segments, S },
    };
    example_encode(message, features, sizeof features / sizeof *features);
}

/* ---- bert-tf1 ----------------------------------------------------------------------------- */

/* Writes the tokens of instance x in the order of bert-tf1: masked tokens from slot 0 on, the
 * others from slot M on. Sets ids, places (positions in the sequence) and segments of each slot.
 * Returns the slot after the last one used. */
static size_t part_tokens(struct bert_record *r, const struct instances *all,
                          const struct instance *x, int64_t *ids, int64_t *places,
                          int64_t *segments)
{
    const uint32_t *tokens = instance_tokens(all, x), *masked = instance_positions(all, x);
    size_t S = r->sequence_length, slot = 0, end = r->mask_tokens;
    fill(ids, S, r->pad);
    fill(places, S, POSITION_PAD);
    fill(segments, S, 0);
    for (uint32_t i = 0; i < x->length; i++) {
        int is_masked = slot < x->masked && masked[slot] == i;
        if (!is_masked && tokens[i] == r->pad)
            continue;
        size_t at = is_masked ? slot++ : end++;
        assert(at < S);
        ids[at] = tokens[i];
        places[at] = i;
        segments[at] = i >= x->second;
    }
    return end;
}

static void encode_tf1(struct bert_record *r, const struct instances *all, const struct instance *x,
                       struct buf *message)
{
    size_t S = r->sequence_length, M = r->mask_tokens;
    int64_t *ids = r->ints[0], *places = r->ints[1], *segments = r->ints[2];
    int64_t *positions = r->ints[3], *labels = r->ints[4];
    int64_t next = x->random, masked = x->masked;
    int64_t end = (int64_t)part_tokens(r, all, x, ids, places, segments);
    widen(positions, instance_positions(all, x), x->masked, x->masked);
    widen(labels, instance_labels(all, x), x->masked, M);
    weigh(r->floats[0], x->masked, M);
    struct feature features[] = {
        { "input_ids", FEATURE_INTS, ids, S },
        { "input_position", FEATURE_INTS, places, S },
        { "mask_padding_index", FEATURE_INTS, &masked, 1 },
        { "masked_labels", FEATURE_INTS, labels, M },
        { "masked_lm_ids", FEATURE_INTS, labels, M },
        { "masked_lm_positions", FEATURE_INTS, positions, x->masked },
        { "masked_lm_weights", FEATURE_FLOATS, r->floats[0], M },
        { "next_sentence_labels", FEATURE_INTS, &next, 1 },
        { "segment_ids", FEATURE_INTS, segments, S },
        { "seq_padding_index", FEATURE_INTS, &end, 1 },
    };
    example_encode(message, features, sizeof features / sizeof *features);
}

/* ---- bert-packed -------------------------------------------------------------------------- */

/* The arrays of a row, and how far they are filled. */
struct row {
    int64_t *ids, *mask, *segments, *places; /* [S] */
    int64_t *positions, *labels;             /* [M + K - 1] */
    float *of; /* [M + K - 1]: the number k of the sequence that it belongs to */
    size_t tokens, masked;
};

/* Adds the k-th sequence to a row, k from 1. */
static void put_sequence(struct row *w, const struct instances *all, const struct instance *x,
                         uint32_t k, size_t S)
{
    const uint32_t *tokens = instance_tokens(all, x);
    const uint32_t *masked = instance_positions(all, x), *labels = instance_labels(all, x);
    size_t start = w->tokens;
    w->ids[S - k] = tokens[0];
    w->mask[S - k] = k;
    for (uint32_t i = 1; i < x->length; i++, w->tokens++) {
        w->ids[w->tokens] = tokens[i];
        w->mask[w->tokens] = k;
        w->segments[w->tokens] = i >= x->second;
        w->places[w->tokens] = i;
    }
    for (uint32_t i = 0; i < x->masked; i++, w->masked++) {
        w->positions[w->masked] = (int64_t)start + masked[i] - 1;
        w->labels[w->masked] = labels[i];
        w->of[w->masked] = (float)k;
    }
}

static void encode_packed(struct bert_record *r, const struct instances *all,
                          const struct packing_row *members, struct buf *message)
{
    size_t S = r->sequence_length, K = PACKING_MAX, M = r->mask_tokens + K - 1;
    int64_t next[PACKING_MAX] = { 0 };
    float present[PACKING_MAX] = { 0 };
    struct row w = { r->ints[0], r->ints[1],   r->ints[2], r->ints[3], r->ints[4],
                     r->ints[5], r->floats[0], 0,          0 };
    fill(w.ids, S, r->pad);
    fill(w.mask, S, 0);
    fill(w.segments, S, 0);
    fill(w.places, S, 0);
    fill(w.positions, M, 0);
    fill(w.labels, M, 0);
    weigh(w.of, 0, M);
    for (uint32_t k = 0; k < members->count; k++) {
        const struct instance *x = &all->list[members->members[k]];
        put_sequence(&w, all, x, k + 1, S);
        next[K - 1 - k] = x->random;
        present[K - 1 - k] = 1;
    }
    struct feature features[] = {
        { "packed_input_ids", FEATURE_INTS, w.ids, S },
        { "packed_input_mask", FEATURE_INTS, w.mask, S },
        { "packed_masked_lm_ids", FEATURE_INTS, w.labels, M },
        { "packed_masked_lm_mask", FEATURE_FLOATS, w.of, M },
        { "packed_masked_lm_positions", FEATURE_INTS, w.positions, M },
        { "packed_next_sentence_labels", FEATURE_INTS, next, K },
        { "packed_next_sentence_mask", FEATURE_FLOATS, present, K },
        { "packed_position_ids", FEATURE_INTS, w.places, S },
        { "packed_segment_ids", FEATURE_INTS, w.segments, S },
    };
    example_encode(message, features, sizeof features / sizeof *features);
}

void bert_record_encode(struct bert_record *r, const struct instances *all,
                        const struct packing_row *row, struct buf *message)
{
    buf_clear(message);
    if (r->layout == BERT_PACKED)
        encode_packed(r, all, row, message);
    else if (r->layout == BERT_TF1)
        encode_tf1(r, all, &all->list[row->members[0]], message);
    else
        encode_plain(r, all, &all->list[row->members[0]], message);
}
