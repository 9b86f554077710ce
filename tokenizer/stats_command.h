/*
 * stats_command.h - the command `tokenize stats`.
 */
#ifndef TEXTMILL_TOKENIZER_STATS_COMMAND_H
#define TEXTMILL_TOKENIZER_STATS_COMMAND_H

#include "common/program/tool.h"

extern const struct tool_command stats_command;

#endif
