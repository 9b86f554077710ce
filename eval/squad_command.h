/*
 * squad_command.h - the command `evaluate squad`.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command squad_command;
