/*
 * expand_command.h - the subcommand `wikiprep expand`.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command expand_command;
