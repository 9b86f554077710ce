/*
 * dedup_command.h - textclean dedup: leaves out what occurred before.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command dedup_command;
