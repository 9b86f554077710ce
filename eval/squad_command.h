/*
 * squad_command.h - `evaluate squad`: its options, and what it does.
 */
#ifndef TEXTMILL_SQUAD_COMMAND_H
#define TEXTMILL_SQUAD_COMMAND_H

#include "common/opt.h"

extern const struct opt squad_command_options[];
int squad_command(int argc, char **argv);

#endif
