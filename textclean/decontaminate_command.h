/*
 * decontaminate_command.h - textclean decontaminate: removes the texts of tests from a corpus.
 */
#ifndef TEXTMILL_TEXTCLEAN_DECONTAMINATE_COMMAND_H
#define TEXTMILL_TEXTCLEAN_DECONTAMINATE_COMMAND_H

#include "common/program/tool.h"

extern const struct tool_command decontaminate_command;

#endif
