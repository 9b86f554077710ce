/*
 * squad_command.h - the command `evaluate squad`.
 */
#ifndef TEXTMILL_EVAL_SQUAD_COMMAND_H
#define TEXTMILL_EVAL_SQUAD_COMMAND_H

#include "common/program/tool.h"

extern const struct tool_command squad_command;

#endif
