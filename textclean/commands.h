/*
 * commands.h - the commands of textclean, one file NAME_command.c each.
 */
#pragma once

#include "common/program/tool.h"

extern const struct tool_command filter_command, learn_filter_command, dedup_command,
    decontaminate_command, language_command, learn_language_command, quality_command,
    learn_quality_command;
