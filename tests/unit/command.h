/*
 * command.h - runs a command of a program in this process, without the rest of the program.
 */
#pragma once

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/program/tool.h"

/* Runs a command with the words of a line, which have blanks between them. Returns what the command
 * returns. */
static inline int run_command(const struct tool_command *c, const char *line)
{
    char *words[32], *copy = mem_strdup(line);
    void *given = mem_alloc(c->size);
    struct opts o = { 0 };
    int n = 0;
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        words[n++] = word;
    memcpy(given, c->defaults, c->size);
    opts_add(&o, c->options, given);
    n = opts_parse(&o, n, words);
    const int result = n < 0 ? -1 : c->run(n, words, given);
    opts_release(&o);
    free(given);
    free(copy);
    return result;
}
