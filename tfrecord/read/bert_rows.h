/*
 * bert_rows.h - reads the records of bert_record.h, in any layout. Gives sequences with their
 * tokens in text order, the labels of the masked tokens, and the next-sentence label.
 *
 * Every list must have the length that the other lists imply. Positions must be within the
 * sequence. In a layout that moves tokens, each place must be used exactly once. [PAD] tokens of
 * the text, which bert-tf1 leaves out, are restored.
 */
#pragma once

#include "tfrecord/layouts/bert_record.h"

/* Sets *layout to the layout of a tf.Example, found from features that only one layout has. Returns
 * 1 if it has a BERT layout, 0 if not, and -1 with an error if the record is damaged. */
int bert_layout_of(enum bert_layout *layout, const void *data, size_t n);

/* Sets *shape to the layout of the tf.Example data[0..n) and to the lengths of its lists. Returns
 * 0, or -1 with an error if it does not have a BERT layout. */
int bert_shape_of(struct bert_shape *shape, const void *data, size_t n);

/* Returns -1 with an error if the records of shape *is cannot follow those of shape *first in one
 * data set, else 0. */
int bert_shape_check_same(const struct bert_shape *is, const struct bert_shape *first);

/* One sequence. The caller owns the arrays, each [sequence_length]. */
struct bert_row {
    uint32_t *ids, *segments; /* set for existing tokens only; segments are 0 or 1 */
    int32_t *labels;          /* set at positions to predict; other positions are not changed */
    uint32_t length;          /* number of tokens */
    int next;                 /* 1: the second part is from another document */
};

struct bert_rows {
    struct bert_shape shape;
    int64_t *values; /* working memory */
    float *floats;
};

void bert_rows_init(struct bert_rows *r, const struct bert_shape *shape);
void bert_rows_release(struct bert_rows *r); /* fine on a zeroed struct */

/* Reads a record into rows[0..shape.sequences). Returns the number of sequences, or -1 with an
 * error. Ids are below 2^31. */
int bert_rows_read(struct bert_rows *r, const void *data, size_t n, struct bert_row *rows);

/* Returns -1 with an error if an id or a label of the row is not below `vocabulary`, else 0. */
int bert_row_check(const struct bert_row *row, uint64_t vocabulary);
