/*
 * report_command.h - `train report`: a page that compares several runs.
 */
#ifndef TEXTMILL_TRAIN_REPORT_REPORT_COMMAND_H
#define TEXTMILL_TRAIN_REPORT_REPORT_COMMAND_H

#include "common/program/tool.h"

extern const struct tool_command report_command;

#endif
