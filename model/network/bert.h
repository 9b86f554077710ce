/*
 * bert.h - logits of BERT's pre-training head, for evaluation; model.h has its losses.
 *
 * x[rows,C] is the output of the last layer, one row for each real token. w: the parameters of the
 * head block. tied: the parameters of the embedding block. Checked against transformers by
 * tests/peers/bert.py.
 */
#pragma once

#include "model/network/model.h"

/* Sets logits[n,V] to the scores of the vocabulary for the tokens in rows[n] (I64) of x. The model
 * must have HEAD_PRETRAINING. */
void bert_word_logits(const struct model *m, struct ops *o, struct ops_array logits,
                      struct ops_array x, struct ops_array w, struct ops_array tied,
                      struct ops_array rows, int64_t n);

/* Sets logits[n,2] to the next-sentence scores of n sequences. Their first tokens are in rows[n]
 * (I64) of x. Column 0: the second sentence follows the first; column 1: it does not. The model
 * must have HEAD_PRETRAINING. */
void bert_next_logits(const struct model *m, struct ops *o, struct ops_array logits,
                      struct ops_array x, struct ops_array w, struct ops_array rows, int64_t n);
