/*
 * plan_model.h - the shape of the model: `config`, `model`, `split` and `own` of a plan, and the
 * settings of the model, which come from the options, the folder to start from, or the
 * architecture.
 *
 * All functions return 0, or -1 with an error.
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
