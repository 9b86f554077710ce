/*
 * dedup_command.h - textclean dedup: leaves out what occurred before.
 */
#ifndef TEXTMILL_TEXTCLEAN_DEDUP_COMMAND_H
#define TEXTMILL_TEXTCLEAN_DEDUP_COMMAND_H

#include "common/program/tool.h"

extern const struct tool_command dedup_command;

#endif
