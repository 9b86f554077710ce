/*
 * prompt.h - reads lines of input: at a terminal with editing and history, else from a pipe or file
 * on stdin.
 *
 * At a terminal, Ctrl-C is caught from prompt_open on. While a line is being read, it ends the
 * input, as Ctrl-D does. At other times it sets prompt_interrupted, which the running work must
 * check.
 */
#pragma once

#include <signal.h>

#include "common/base/base.h"

struct prompt;

/* Opens a prompt. `ask` is printed in front of the line at a terminal (on stderr, since stdout is
 * for results). `program` is the program's name in ~/.editrc. Both are borrowed.
 *
 * keep: at a terminal, the history of earlier runs is loaded, and prompt_close writes it to
 * $XDG_STATE_HOME/textmill/PROGRAM_history (without XDG_STATE_HOME: ~/.local/state), readable by
 * its owner only. Returns NULL with an error that names the file if it is no history file. */
struct prompt *prompt_open(const char *program, const char *ask, int keep);
/* Closes the prompt; NULL is allowed. Returns 0, or -1 with an error about the history file. */
int prompt_close(struct prompt *p);
int prompt_interactive(const struct prompt *p); /* 1: input is a terminal; NULL: 0 */

/* Reads the next line, and sets *line and *n to it without its line end and, if it is the first one
 * of a pipe or file, without a byte order mark. *line is valid until the next call. Returns 1, 0 at
 * the end, or -1 with an error. */
int prompt_read(struct prompt *p, const char **line, size_t *n);
/* For an error about the line that was read last. At a terminal, where another line can be typed,
 * prints it and returns 1; else puts the line's number before the error and returns -1. NULL, for a
 * text that is no line: returns -1. */
int prompt_failed(const struct prompt *p);
/* Returns 1 if prompt_read would not wait, also not for the end of a line, unless it is longer than
 * a megabyte; else 0. At a terminal returns 0. */
int prompt_ready(struct prompt *p);

extern volatile sig_atomic_t prompt_interrupted; /* set to 1 by Ctrl-C; the code that checks it sets
                                                  * it to 0 again */
