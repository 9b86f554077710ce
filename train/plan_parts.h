/*
 * plan_parts.h - the parts of plan_make: the shape of the model (plan_model.c); the tokenizer, the
 * data and the sequence length (plan_data.c). All functions return 0, or -1 with an error.
 */
#pragma once

#include "train/plan.h"

/* Sets the architecture and the configuration to begin with: that of the model folder, or the
 * defaults of the architecture. Refuses settings that the architecture does not use. */
int plan_model_settle(struct plan *p);

/* Sets the size of the vocabulary, which must hold that of the tokenizer and that of the data. */
int plan_model_vocabulary(struct plan *p);

/* Makes the table of the model, and of this rank's part of it. */
int plan_model_make(struct plan *p);

/* Makes the table of --teacher's model, if there is one, and checks that it can teach this model's
 * sequences. */
int plan_model_teacher(struct plan *p);

/* Checks that the sequence length and other lengths that were given fit together. */
int plan_data_check_length(const struct plan *p);

/* Loads the tokenizer of --vocab or, if that is not given, the one in the model folder to start
 * from. */
int plan_data_find_tokenizer(struct plan *p);

/* Opens the data and sets the sequence length and the number of classes. Loads the data's tokenizer
 * if there is no other. With want_data 1, missing data is an error. */
int plan_data_open(struct plan *p, int want_data);

/* Makes the samples of generated data, and sets the size of the vocabulary against which all ids
 * are checked. That size must be known. */
int plan_data_make(struct plan *p);
