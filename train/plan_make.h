/*
 * plan_make.h - makes the plan of a run: the data and the model (plan_data.h, plan_model.h), the
 * division of an update into micro-batches, the program of a step, and the memory that it takes.
 *
 * It reads the tokenizer, the model folder's configuration and the indexes of the data. It fills in
 * the settings that are not set, so that the saved configuration is complete, and checks that all
 * settings fit together.
 */
#pragma once

#include "train/plan.h"

/* Makes the plan, and fills in the settings that are not set. `seed` is the seed of all random
 * numbers. With want_data 1, missing data is an error. Returns 0, or -1 with an error. The caller
 * releases the plan, also after an error. */
int plan_make(struct plan *p, struct settings *s, uint64_t seed, int want_data);
