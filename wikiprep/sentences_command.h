/*
 * sentences_command.h - the subcommand `wikiprep sentences`.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command sentences_command;
