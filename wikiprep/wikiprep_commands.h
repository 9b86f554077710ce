/*
 * wikiprep_commands.h - commands of `wikiprep` that have a file of their own: NAME_command.c.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command expand_command, sentences_command;
