/*
 * evaluate_commands.h - commands of `evaluate` that have a file of their own.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command lmbd_command, choice_command, line_scores_command,
    minimal_pairs_command, core_command, classify_command, squad_command;
