/*
 * expand_command.h - `wikiprep expand`: its options, and what it does.
 */
#ifndef TEXTMILL_WIKIPREP_EXPAND_COMMAND_H
#define TEXTMILL_WIKIPREP_EXPAND_COMMAND_H

#include "common/tool.h"

extern const struct tool_command expand_command;

#endif
