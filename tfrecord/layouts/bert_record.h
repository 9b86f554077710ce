/*
 * bert_record.h - encodes instances as tf.Examples, in three layouts. S is the sequence length, M
 * the number of masked tokens, K the number of sequences per row. Values are int64 unless "float"
 * is noted:
 *
 * bert          input_ids, input_mask (1: a token), segment_ids [S]; masked_lm_positions,
 *               masked_lm_ids, masked_lm_weights (float, 1 or 0) [M]; next_sentence_labels [1],
 *               1 when B is from another document
 * bert-tf1      what is predicted stands first: m masked tokens in places 0 to m-1, and from place
 *               M on the others, [CLS] at M. input_ids, input_position (where a token stood),
 *               segment_ids [S]; mask_padding_index [1] = m; seq_padding_index [1], the end of the
 *               others; masked_lm_positions [m]; masked_labels, masked_lm_ids,
 *               masked_lm_weights (float) [M]; next_sentence_labels [1]
 * bert-packed   up to K sequences in a row: end to end from place 0, each without its [CLS], and
 *               the [CLS] of the k-th at place S-k. packed_input_ids, packed_input_mask (k, from
 *               1), packed_segment_ids, packed_position_ids [S]; packed_masked_lm_positions (in
 *               the row), packed_masked_lm_ids, packed_masked_lm_mask (float, k) [M+K-1];
 *               packed_next_sentence_labels, packed_next_sentence_mask (float, 1 or 0) [K]
 *
 * Unused places hold [PAD] in ids, position 384 in input_position, and 0 elsewhere. bert-tf1 leaves
 * out unmasked tokens that are [PAD] themselves.
 */
#pragma once

#include "tfrecord/layouts/instances.h"
#include "tfrecord/layouts/packing.h"

enum bert_layout { BERT_PLAIN, BERT_TF1, BERT_PACKED };

const char *bert_layout_name(enum bert_layout layout); /* "bert-tf1" */

struct bert_shape {
    enum bert_layout layout;
    uint32_t sequence_length, mask_tokens;
    uint32_t sequences; /* most sequences per record */
};

/* The features that readers need: the lists of integers, then those of floats. bert_names has the
 * name of each in each layout; NULL: the layout lacks it. */
enum bert_field {
    BERT_IDS,
    BERT_SEGMENTS,
    BERT_MASK,
    BERT_PLACES,
    BERT_LABELS,
    BERT_POSITIONS,
    BERT_NEXT,
    BERT_MASKED,
    BERT_END,
    BERT_INTS,
    BERT_WEIGHTS = BERT_INTS,
    BERT_PRESENT,
    BERT_FIELDS
};
extern const char *const bert_names[BERT_PACKED + 1][BERT_FIELDS];

/* Returns the number of values of a field. */
static inline uint32_t bert_field_length(const struct bert_shape *s, int field)
{
    switch ((enum bert_field)field) {
    case BERT_IDS:
    case BERT_SEGMENTS:
    case BERT_MASK:
    case BERT_PLACES: return s->sequence_length;
    case BERT_LABELS:
    case BERT_POSITIONS:
    case BERT_WEIGHTS: return s->mask_tokens + s->sequences - 1;
    case BERT_NEXT:
    case BERT_PRESENT: return s->sequences;
    default: return 1;
    }
}

struct bert_record {
    struct bert_shape shape;
    uint32_t pad;
    int64_t *ints[BERT_INTS]; /* working memory for the fields, as are `floats` */
    float *floats[BERT_FIELDS - BERT_INTS];
};

void bert_record_init(struct bert_record *r, enum bert_layout layout, uint32_t sequence_length,
                      uint32_t mask_tokens, uint32_t pad);
void bert_record_release(struct bert_record *r);

/* Replaces `message` by the record of `row`: one instance of `all`, or in the packed layout all
 * instances of the row. */
void bert_record_encode(struct bert_record *r, const struct instances *all,
                        const struct packing_row *row, struct buf *message);
