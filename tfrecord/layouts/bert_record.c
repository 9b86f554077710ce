#include "tfrecord/layouts/bert_record.h"

#include "tfrecord/formats/example.h"

enum { POSITION_PAD = 384, FLOATS = BERT_FIELDS - BERT_INTS };

const char *const bert_names[][BERT_FIELDS] = {
    [BERT_PLAIN] = { [BERT_IDS] = "input_ids",
                     [BERT_SEGMENTS] = "segment_ids",
                     [BERT_MASK] = "input_mask",
                     [BERT_LABELS] = "masked_lm_ids",
                     [BERT_POSITIONS] = "masked_lm_positions",
                     [BERT_WEIGHTS] = "masked_lm_weights",
                     [BERT_NEXT] = "next_sentence_labels" },
    [BERT_TF1] = { [BERT_IDS] = "input_ids",
                   [BERT_SEGMENTS] = "segment_ids",
                   [BERT_PLACES] = "input_position",
                   [BERT_LABELS] = "masked_lm_ids",
                   [BERT_MASKED] = "mask_padding_index",
                   [BERT_END] = "seq_padding_index",
                   [BERT_NEXT] = "next_sentence_labels" },
    [BERT_PACKED] = { [BERT_IDS] = "packed_input_ids",
                      [BERT_SEGMENTS] = "packed_segment_ids",
                      [BERT_MASK] = "packed_input_mask",
                      [BERT_PLACES] = "packed_position_ids",
                      [BERT_LABELS] = "packed_masked_lm_ids",
                      [BERT_POSITIONS] = "packed_masked_lm_positions",
                      [BERT_WEIGHTS] = "packed_masked_lm_mask",
                      [BERT_NEXT] = "packed_next_sentence_labels",
                      [BERT_PRESENT] = "packed_next_sentence_mask" },
};

const char *bert_layout_name(enum bert_layout layout)
{
    static const char *const names[] = { "bert", "bert-tf1", "bert-packed" };
    return names[layout];
}

void bert_record_init(struct bert_record *r, enum bert_layout layout, uint32_t sequence_length,
                      uint32_t mask_tokens, uint32_t pad)
{
    const uint32_t sequences = layout == BERT_PACKED ? PACKING_MAX : 1;
    *r = (struct bert_record){ { layout, sequence_length, mask_tokens, sequences }, .pad = pad };
    for (int i = 0; i < BERT_INTS; i++)
        r->ints[i] = mem_zalloc(bert_field_length(&r->shape, i), sizeof **r->ints);
    for (int i = 0; i < FLOATS; i++)
        r->floats[i] = mem_zalloc(bert_field_length(&r->shape, BERT_INTS + i), sizeof **r->floats);
}

void bert_record_release(struct bert_record *r)
{
    for (int i = 0; i < BERT_INTS; i++)
        free(r->ints[i]);
    for (int i = 0; i < FLOATS; i++)
        free(r->floats[i]);
}

static void fill(int64_t *values, size_t n, int64_t v)
{
    for (size_t i = 0; i < n; i++)
        values[i] = v;
}

/* Sets the fields to those of a record without tokens. */
static void clear(struct bert_record *r)
{
    for (int i = 0; i < BERT_INTS; i++)
        fill(r->ints[i], bert_field_length(&r->shape, i), 0);
    for (int i = 0; i < FLOATS; i++)
        memset(r->floats[i], 0, bert_field_length(&r->shape, BERT_INTS + i) * sizeof **r->floats);
    fill(r->ints[BERT_IDS], r->shape.sequence_length, r->pad);
    if (r->shape.layout == BERT_TF1)
        fill(r->ints[BERT_PLACES], r->shape.sequence_length, POSITION_PAD);
}

/* ---- bert --------------------------------------------------------------------------------- */

static void put_plain(struct bert_record *r, const struct instances *all, const struct instance *x)
{
    const uint32_t *tokens = instance_tokens(all, x);
    for (uint32_t i = 0; i < x->length; i++) {
        r->ints[BERT_IDS][i] = tokens[i];
        r->ints[BERT_MASK][i] = 1;
        r->ints[BERT_SEGMENTS][i] = i >= x->second;
    }
}

/* ---- bert-tf1 ----------------------------------------------------------------------------- */

/* Puts the tokens of instance x in the order of bert-tf1: masked tokens from slot 0 on, the others
 * from slot M on. */
static void put_tf1(struct bert_record *r, const struct instances *all, const struct instance *x)
{
    const uint32_t *tokens = instance_tokens(all, x), *masked = instance_positions(all, x);
    size_t slot = 0, end = r->shape.mask_tokens;
    for (uint32_t i = 0; i < x->length; i++) {
        int is_masked = slot < x->masked && masked[slot] == i;
        if (!is_masked && tokens[i] == r->pad)
            continue;
        size_t at = is_masked ? slot++ : end++;
        assert(at < r->shape.sequence_length);
        r->ints[BERT_IDS][at] = tokens[i];
        r->ints[BERT_PLACES][at] = i;
        r->ints[BERT_SEGMENTS][at] = i >= x->second;
    }
    *r->ints[BERT_MASKED] = x->masked;
    *r->ints[BERT_END] = (int64_t)end;
}

/* Puts the labels, which bert and bert-tf1 have alike. */
static void put_labels(struct bert_record *r, const struct instances *all, const struct instance *x)
{
    const uint32_t *masked = instance_positions(all, x), *labels = instance_labels(all, x);
    for (uint32_t i = 0; i < x->masked; i++) {
        r->ints[BERT_POSITIONS][i] = masked[i];
        r->ints[BERT_LABELS][i] = labels[i];
        r->floats[0][i] = 1;
    }
    *r->ints[BERT_NEXT] = x->random;
}

/* ---- bert-packed -------------------------------------------------------------------------- */

/* How far a row is filled. */
struct filled {
    size_t tokens, masked;
};

/* Adds the k-th sequence to a row, k from 1. */
static void put_sequence(struct bert_record *r, const struct instances *all,
                         const struct instance *x, uint32_t k, struct filled *row)
{
    const uint32_t *tokens = instance_tokens(all, x);
    const uint32_t *masked = instance_positions(all, x), *labels = instance_labels(all, x);
    const size_t S = r->shape.sequence_length, start = row->tokens;
    r->ints[BERT_IDS][S - k] = tokens[0];
    r->ints[BERT_MASK][S - k] = k;
    for (uint32_t i = 1; i < x->length; i++, row->tokens++) {
        r->ints[BERT_IDS][row->tokens] = tokens[i];
        r->ints[BERT_MASK][row->tokens] = k;
        r->ints[BERT_SEGMENTS][row->tokens] = i >= x->second;
        r->ints[BERT_PLACES][row->tokens] = i;
    }
    for (uint32_t i = 0; i < x->masked; i++, row->masked++) {
        r->ints[BERT_POSITIONS][row->masked] = (int64_t)start + masked[i] - 1;
        r->ints[BERT_LABELS][row->masked] = labels[i];
        r->floats[0][row->masked] = (float)k;
    }
    r->ints[BERT_NEXT][PACKING_MAX - k] = x->random;
    r->floats[1][PACKING_MAX - k] = 1;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void encode_fields(const struct bert_record *r, struct buf *message)
{
    struct feature features[BERT_FIELDS + 3];
    const uint32_t M = r->shape.mask_tokens;
    size_t n = 0;
    for (int i = 0; i < BERT_FIELDS; i++) {
        const int real = i >= BERT_INTS;
        const char *name = bert_names[r->shape.layout][i];
        const void *values = real ? (const void *)r->floats[i - BERT_INTS] : r->ints[i];
        if (name)
            features[n++] = (struct feature){ name, real ? FEATURE_FLOATS : FEATURE_INTS, values,
                                              bert_field_length(&r->shape, i) };
    }
    if (r->shape.layout == BERT_TF1) { /* features of bert-tf1 that bert_rows.c does not need */
        features[n++] = (struct feature){ "masked_labels", FEATURE_INTS, r->ints[BERT_LABELS], M };
        features[n++] = (struct feature){ "masked_lm_positions", FEATURE_INTS,
                                          r->ints[BERT_POSITIONS], (size_t)*r->ints[BERT_MASKED] };
        features[n++] = (struct feature){ "masked_lm_weights", FEATURE_FLOATS, r->floats[0], M };
    }
    example_encode(message, features, n);
}

void bert_record_encode(struct bert_record *r, const struct instances *all,
                        const struct packing_row *row, struct buf *message)
{
    const struct instance *first = &all->list[row->members[0]];
    const enum bert_layout layout = r->shape.layout;
    struct filled filled = { 0, 0 };
    clear(r);
    for (uint32_t k = 0; k < row->count && layout == BERT_PACKED; k++)
        put_sequence(r, all, &all->list[row->members[k]], k + 1, &filled);
    if (layout != BERT_PACKED) {
        (layout == BERT_TF1 ? put_tf1 : put_plain)(r, all, first);
        put_labels(r, all, first);
    }
    buf_clear(message);
    encode_fields(r, message);
}
