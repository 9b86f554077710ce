/*
 * foreign.h - translates configuration files of other programs into the options of this one.
 *
 * Two kinds are read: the config.json of GPT-2 and BERT models in the form of the Hugging Face
 * ecosystem, and the JSON configurations of BERT trainers on TensorFlow 1. For the latter (task
 * "pretraining"), settings that the file does not have get the defaults of those trainers. Keys and
 * values are translated. A table of rates by step becomes the custom schedule. The global batch is
 * the product of micro-batch, accumulation count and replicas. Keys without influence on training
 * are left out. Keys that only concern an accelerator cause a warning in a .json file and an error
 * in any other file; both give the reason. A kind of model that model.h does not have is an error
 * in any file.
 */
#pragma once

#include "common/formats/yaml.h"

/* Returns the end of an error message about the option `name` of one of those programs: the name of
 * the option here, or the reason why there is none; NULL for an unknown name. The text is valid
 * until the next call. */
const char *foreign_option(const char *name);

/* Replaces the keys and values of y by options of this program. `path` is for messages. Returns 0,
 * or -1 with an error. */
int foreign_translate(struct yaml *y, const char *path);
