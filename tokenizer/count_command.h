/*
 * count_command.h - `tokenize count`: its options, and what it does.
 */
#ifndef TEXTMILL_TOKENIZER_COUNT_COMMAND_H
#define TEXTMILL_TOKENIZER_COUNT_COMMAND_H

#include "common/opt.h"

extern const struct opt count_command_options[];
int count_command(int argc, char **argv);

#endif
