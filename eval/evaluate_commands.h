/*
 * evaluate_commands.h - commands of `evaluate` that have a file of their own: NAME_command.c.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command classify_command, squad_command;
