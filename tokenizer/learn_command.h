/*
 * learn_command.h - the command `tokenize train`.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command learn_command;
