/*
 * expand_command.h - the subcommand `wikiprep expand`.
 */
#ifndef TEXTMILL_WIKIPREP_EXPAND_COMMAND_H
#define TEXTMILL_WIKIPREP_EXPAND_COMMAND_H

#include "common/program/tool.h"

extern const struct tool_command expand_command;

#endif
