/*
 * learn_command.h - `tokenize train`: its options, and what it does.
 */
#ifndef TEXTMILL_TOKENIZER_LEARN_COMMAND_H
#define TEXTMILL_TOKENIZER_LEARN_COMMAND_H

#include "common/opt.h"

extern const struct opt learn_command_options[];
int learn_command(int argc, char **argv);

#endif
