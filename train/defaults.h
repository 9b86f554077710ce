/*
 * defaults.h - default settings of a training, chosen by the size of the model.
 *
 * N is the number of parameters.
 *
 *     learning rate    6e-4 (124e6 / N)^(1/4), at most 3e-3: within a factor of 1.7 of GPT-3's
 *                      rates (Brown et al. 2020, table 2.1), and suitable for small models. Half
 *                      of it for an encoder, and a tenth if the weights were trained before;
 *                      rounded to two digits
 *     minimum rate     a tenth of the learning rate
 *     micro-batch      about N / 4000 tokens, but at least 2048 and at most 4096: gradients of
 *                      fewer tokens are too noisy, more tokens need much memory
 *     warm-up          a hundredth of the updates, but at least 100 updates, and at most a tenth
 *
 * The rates are meant for AdamW; other optimizers get the same ones.
 */
#pragma once

#include "common/base/base.h"

/* Returns the peak learning rate. `encoder` 1: the model is an encoder. `trained` 1: its weights
 * were trained before. */
double defaults_learning_rate(int64_t parameters, int encoder, int trained);

/* Returns the number of sequences in a micro-batch, which divides global_batch if that is not 0. */
int64_t defaults_micro_batch(int64_t parameters, int64_t sequence_length, int64_t global_batch);

/* Returns the number of updates of warm-up in a training of `steps` updates. */
int64_t defaults_warmup(int64_t steps);
