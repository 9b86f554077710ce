/*
 * defaults.h - what a training takes where nobody says: by the size of the model.
 *
 * N is the number of parameters, T the sequence length.
 *
 *     learning rate    6e-4 (124e6 / N)^(1/4), at most 3e-3: GPT-3's rates (Brown et al. 2020,
 *                      table 2.1) within a factor of 1.7, and what small models want here; half of
 *                      it for an encoder, and a tenth where the weights were trained before
 *     minimum rate     a tenth of the learning rate
 *     micro-batch      as many sequences as have N / 4000 tokens, but 256 to 4096 tokens: small
 *                      models learn more from more updates, large ones need the memory
 *     warm-up          a hundredth of the updates, but at least 100, and at most a tenth
 *
 * The rates are AdamW's; other optimizers get the same ones.
 */
#ifndef TEXTMILL_TRAIN_DEFAULTS_H
#define TEXTMILL_TRAIN_DEFAULTS_H

#include <stdint.h>

double defaults_learning_rate(int64_t parameters, int encoder, int trained);

/* Sequences; with a global batch (0: none is given) it divides that. */
int64_t defaults_micro_batch(int64_t parameters, int64_t sequence_length, int64_t global_batch);

int64_t defaults_warmup(int64_t steps);

#endif
