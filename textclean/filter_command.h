/*
 * filter_command.h - textclean filter: leaves out documents that fail rules.
 */
#ifndef TEXTMILL_TEXTCLEAN_FILTER_COMMAND_H
#define TEXTMILL_TEXTCLEAN_FILTER_COMMAND_H

#include "common/program/tool.h"

extern const struct tool_command filter_command;

#endif
