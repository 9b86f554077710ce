/*
 * stats_command.h - `tokenize stats`: its options, and what it does.
 */
#ifndef TEXTMILL_TOKENIZER_STATS_COMMAND_H
#define TEXTMILL_TOKENIZER_STATS_COMMAND_H

#include "common/opt.h"

extern const struct opt stats_command_options[];
int stats_command(int argc, char **argv);

#endif
