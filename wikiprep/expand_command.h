/*
 * expand_command.h - `wikiprep expand`: its options, and what it does.
 */
#ifndef TEXTMILL_WIKIPREP_EXPAND_COMMAND_H
#define TEXTMILL_WIKIPREP_EXPAND_COMMAND_H

#include "common/opt.h"

extern const struct opt expand_command_options[];
int expand_command(int argc, char **argv);

#endif
