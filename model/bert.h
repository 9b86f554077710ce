/*
 * bert.h - what BERT's heads say about the encoder's output, beyond the losses of model.h.
 *
 * x[rows,C] is the last layer's output, a row a real token; w the head block, tied the embedding
 * block. Checked against transformers by tests/peers/bert.py.
 */
#ifndef TEXTMILL_BERT_H
#define TEXTMILL_BERT_H

#include "model/model.h"

/* logits[n,V] of the words at rows index[n] (MODEL_BERT_PRETRAINING). */
void bert_word_logits(const struct model *m, struct ops *o, float *logits, const float *x,
                      const float *w, const float *tied, const int64_t *index, int64_t n);

/* logits[B,2]: the second sentence follows the first, or is another (MODEL_BERT_PRETRAINING). */
void bert_next_logits(const struct model *m, struct ops *o, float *logits, const float *x,
                      const float *w, const struct batch *b);

/* logits[rows,2]: an answer starts, ends here (MODEL_BERT_QUESTIONS). */
void bert_span_logits(const struct model *m, struct ops *o, float *logits, const float *x,
                      const float *w, const struct batch *b);

#endif
