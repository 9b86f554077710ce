/*
 * count_command.h - the command `tokenize count`.
 */
#ifndef TEXTMILL_TOKENIZER_COUNT_COMMAND_H
#define TEXTMILL_TOKENIZER_COUNT_COMMAND_H

#include "common/program/tool.h"

extern const struct tool_command count_command;

#endif
