/*
 * prompt.h - lines of input: from a person at a terminal, with editing and history, or from a
 * pipe or file on stdin.
 *
 * At a terminal Ctrl-C is caught from prompt_open on: while a line is read it ends the input,
 * as Ctrl-D does; at other times it sets prompt_interrupted, for the work in hand to look at.
 */
#ifndef TEXTMILL_COMMON_PROMPT_H
#define TEXTMILL_COMMON_PROMPT_H

#include <signal.h>
#include <stddef.h>

struct prompt;

/* `ask` stands in front of the line at a terminal (on stderr: stdout is for results); `program` is
 * the name by which ~/.editrc knows it. Both borrowed.
 *
 * keep: at a terminal the history begins with what was typed in earlier runs, and prompt_close
 * writes it to $XDG_STATE_HOME/textmill/PROGRAM_history (without XDG_STATE_HOME: ~/.local/state),
 * which others cannot read. NULL with an error that names the file when it is no history. */
struct prompt *prompt_open(const char *program, const char *ask, int keep);
int prompt_close(struct prompt *p);             /* -1: the history was not written */
int prompt_interactive(const struct prompt *p); /* 1: a terminal */

/* The next line without its line end, valid until the next call: 1, 0 at the end, -1. */
int prompt_read(struct prompt *p, const char **line, size_t *n);

extern volatile sig_atomic_t prompt_interrupted; /* set by Ctrl-C; the reader clears it */

#endif
