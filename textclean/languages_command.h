/*
 * languages_command.h - the commands "language" and "learn-language" of textclean.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command language_command, learn_language_command;
