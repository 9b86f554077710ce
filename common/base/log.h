/*
 * log.h - messages and progress on stderr.
 *
 * For main programs and their loops only; library code neither prints nor exits.
 */
#pragma once

#include "common/base/std.h"

/* Verbosity: -1 with -q (errors only), 0 by default, 1 and more with -v. Set before threads
 * start. */
extern int log_level;

/* Whether to show progress. 1: always; 0: never; -1 (default): only if stderr is a terminal
 * and log_level is not negative. */
extern int log_progress;

extern const char *log_program; /* in front of each line: its name as it was called; borrowed */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "<kind><first><second><third>", in which nothing is formatted or escaped. `kind` is
 * "error: " or "". May be called in a signal handler. */
void log_in_handler(const char *kind, const char *first, const char *second, const char *third);

/* Prints an error and exits with status 1. Library code calls it only when memory or threads run
 * out or a GPU fails (cuda.h): the one exception to "neither prints nor exits". */
void log_fatal(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Ends the program as exit does, but without the functions that libraries run at exit: those of a
 * library that was loaded while memory ran out may crash. */
void log_exit(int status) __attribute__((noreturn));

/* Formats a count and its noun as "1 page left out" or "1,234 pages left out", from the noun
 * "page(s) left out", into the caller's buffer of LOG_COUNTED bytes. It returns this buffer. */
enum { LOG_COUNTED = 128 };
char *log_counted(char text[LOG_COUNTED], uint64_t n, const char *noun);

/* Format a number as "1,234,567", a size as "12.3 MiB" and a time as "5:02" or "1:05:02" into the
 * caller's buffer of 32 bytes. They return this buffer. */
char *log_count(char text[32], uint64_t n);
char *log_bytes(char text[32], uint64_t bytes);
char *log_time(char text[32], double seconds);

double log_seconds(void); /* wall clock, monotonic */

/* Shows a progress line on a terminal, after the first second, a few times a second. It shows count
 * and rate; if `total` is known, also percentage and remaining time. SIGUSR1 prints it at any time,
 * even if stderr is no terminal (tool.h catches the signal). Only one progress line exists at a
 * time. */
/* `unit` is a noun as for log_counted, borrowed; total 0: unknown */
void progress_begin(const char *unit, uint64_t total);
void progress_to(uint64_t done); /* cheap; from one thread at a time */
void progress_end(void);         /* clears the line */

/* For a caller that writes the text of its progress line itself. progress_due returns 1 when the
 * line should be shown again; progress_line then shows it. */
int progress_due(void);
void progress_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A signal handler: asks for the line at the next progress_to or progress_due. */
void progress_request(int);
