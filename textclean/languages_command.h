/*
 * languages_command.h - the commands "language" and "learn-language" of textclean.
 */
#ifndef TEXTMILL_TEXTCLEAN_LANGUAGES_COMMAND_H
#define TEXTMILL_TEXTCLEAN_LANGUAGES_COMMAND_H

#include "common/program/tool.h"

extern const struct tool_command language_command, learn_language_command;

#endif
