/*
 * count_command.h - the command `tokenize count`.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command count_command;
