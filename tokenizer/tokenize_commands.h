/*
 * tokenize_commands.h - commands of `tokenize` that have a file of their own: NAME_command.c.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command count_command, learn_command, stats_command;
