/*
 * squad_command.h - `evaluate squad`: its options, and what it does.
 */
#ifndef TEXTMILL_EVAL_SQUAD_COMMAND_H
#define TEXTMILL_EVAL_SQUAD_COMMAND_H

#include "common/tool.h"

extern const struct tool_command squad_command;

#endif
