/*
 * bert.h - what BERT's head for pre-training says about the encoder's output, beyond the losses of
 * model.h.
 *
 * x[rows,C] is the last layer's output, a row a real token; w the head block, tied the embedding
 * block. Checked against transformers by tests/peers/bert.py.
 */
#ifndef TEXTMILL_MODEL_BERT_H
#define TEXTMILL_MODEL_BERT_H

#include "model/model.h"

/* logits[n,V] of the words at rows[n], I64 (HEAD_PRETRAINING). */
void bert_word_logits(const struct model *m, struct ops *o, struct ops_array logits,
                      struct ops_array x, struct ops_array w, struct ops_array tied,
                      struct ops_array rows, int64_t n);

/* logits[n,2]: after the sequences that begin at rows[n] the second sentence follows the first, or
 * is another (HEAD_PRETRAINING). */
void bert_next_logits(const struct model *m, struct ops *o, struct ops_array logits,
                      struct ops_array x, struct ops_array w, struct ops_array rows, int64_t n);

#endif
