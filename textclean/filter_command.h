/*
 * filter_command.h - textclean filter: leaves out documents that fail rules.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command filter_command;
