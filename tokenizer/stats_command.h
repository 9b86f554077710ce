/*
 * stats_command.h - the command `tokenize stats`.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command stats_command;
