/*
 * export_command.h - `generate export`: writes a model folder and its tokenizer as a GGUF file.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command export_command;
