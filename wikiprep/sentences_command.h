/*
 * sentences_command.h - `wikiprep sentences`: its options, and what it does.
 */
#ifndef TEXTMILL_WIKIPREP_SENTENCES_COMMAND_H
#define TEXTMILL_WIKIPREP_SENTENCES_COMMAND_H

#include "common/opt.h"

extern const struct opt sentences_command_options[];
int sentences_command(int argc, char **argv);

#endif
