/*
 * decontaminate_command.h - textclean decontaminate: removes the texts of tests from a corpus.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command decontaminate_command;
