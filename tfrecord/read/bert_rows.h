/*
 * bert_rows.h - the records of bert_record.h read back, whichever the layout: sequences with their
 * tokens in the order of the text, the labels of the masked ones, and what follows.
 *
 * Every list must have the length that the others imply; positions must be within the sequence,
 * and in a layout that moves tokens each place must be taken once. What bert-tf1 leaves out,
 * [PAD] in the text, is put back.
 */
#ifndef TEXTMILL_TFRECORD_READ_BERT_ROWS_H
#define TEXTMILL_TFRECORD_READ_BERT_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "tfrecord/layouts/bert_record.h"

struct bert_shape {
    enum bert_layout layout;
    uint32_t sequence_length, mask_tokens;
    uint32_t sequences; /* of a record, at most */
};

/* The layout of a tf.Example, by what stands in one layout alone and by words to predict: 1, 0 when
 * it is of none, -1. */
int bert_layout_of(enum bert_layout *layout, const void *data, size_t n);

/* The layout of a tf.Example and the lengths of its lists: -1 when it is of none. */
int bert_shape_of(struct bert_shape *shape, const void *data, size_t n);

/* One sequence. The arrays are the caller's, [sequence_length]. */
struct bert_row {
    uint32_t *ids, *segments; /* set for the tokens that there are; segments are 0 or 1 */
    int32_t *labels;          /* set where a token is to be predicted, else not touched */
    uint32_t length;          /* tokens */
    int next;                 /* 1: the second part is from another document */
};

struct bert_rows {
    struct bert_shape shape;
    int64_t *values; /* working memory */
    float *floats;
};

void bert_rows_init(struct bert_rows *r, const struct bert_shape *shape);
void bert_rows_release(struct bert_rows *r); /* fine on a zeroed struct */

/* Fills rows[0..shape.sequences): how many there are, or -1. Ids are below 2^31. */
int bert_rows_read(struct bert_rows *r, const void *data, size_t n, struct bert_row *rows);

#endif
