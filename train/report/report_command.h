/*
 * report_command.h - `train report`: a page that compares several runs.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command report_command;
