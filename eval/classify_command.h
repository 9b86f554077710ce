/*
 * classify_command.h - the command `evaluate classify`.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command classify_command;
