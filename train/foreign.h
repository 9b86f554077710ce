/*
 * foreign.h - configuration files of other programs, in this one's words.
 *
 * Read as they are: config.json of GPT-2 and BERT models as the Hugging Face ecosystem writes
 * them, and the JSON configurations of BERT trainers on TensorFlow 1, whose own defaults fill in
 * what such a file (task "pretraining") leaves open. Names and words are translated, a table of
 * rates by step becomes the custom schedule, and micro-batches times accumulation times replicas
 * the global batch. Keys that say nothing about a training are left out. Keys that only an
 * accelerator has a use for are warned of in a .json file, which was written for one, and are an
 * error anywhere else; either says why there is no such thing here. Another form of model than
 * those of model.h is an error in any file.
 */
#ifndef TEXTMILL_TRAIN_FOREIGN_H
#define TEXTMILL_TRAIN_FOREIGN_H

#include "common/yaml.h"

/* Translates the items in place; `path` for messages. */
/* What an option of these trainers is called here, or why there is none: the end of an error; NULL
 * for a name that they do not have. Valid until the next call. */
const char *foreign_option(const char *name);

int foreign_translate(struct yaml *y, const char *path);

#endif
