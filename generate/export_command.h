/*
 * export_command.h - `generate export`: writes a model folder and its tokenizer as a GGUF file.
 */
#ifndef TEXTMILL_GENERATE_EXPORT_COMMAND_H
#define TEXTMILL_GENERATE_EXPORT_COMMAND_H

#include "common/program/tool.h"

extern const struct tool_command export_command;

#endif
