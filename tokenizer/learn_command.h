/*
 * learn_command.h - the command `tokenize train`.
 */
#ifndef TEXTMILL_TOKENIZER_LEARN_COMMAND_H
#define TEXTMILL_TOKENIZER_LEARN_COMMAND_H

#include "common/program/tool.h"

extern const struct tool_command learn_command;

#endif
