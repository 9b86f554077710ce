/*
 * plan_data.h - the tokenizer, the data and the sequence length of a run: `tokenizer`, `data` and
 * `validation` of the plan, `T` and `most` of its engine, and the settings of lengths and masks.
 *
 * All functions return 0, or -1 with an error.
 */
#pragma once

#include "train/plan.h"

/* Checks that the sequence length and other lengths that were given fit together. */
int plan_data_check_length(const struct plan *p);

/* Loads the tokenizer of --vocab or, if that is not given, the one in the model folder to start
 * from. */
int plan_data_find_tokenizer(struct plan *p);

/* Opens the data and sets the sequence length and the number of classes. Loads the data's tokenizer
 * if there is no other. With want_data 1, missing data is an error. */
int plan_data_open(struct plan *p, int want_data);

/* Returns 0, or -1 with an error if the folder of --teacher has another vocabulary than the run. */
int plan_data_check_teacher(const struct plan *p);

/* Makes the samples of generated data, and sets the size of the vocabulary against which all ids
 * are checked. That size must be known. */
int plan_data_make(struct plan *p);
