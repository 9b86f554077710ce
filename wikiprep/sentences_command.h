/*
 * sentences_command.h - the subcommand `wikiprep sentences`.
 */
#ifndef TEXTMILL_WIKIPREP_SENTENCES_COMMAND_H
#define TEXTMILL_WIKIPREP_SENTENCES_COMMAND_H

#include "common/program/tool.h"

extern const struct tool_command sentences_command;

#endif
