/*
 * log.h - what a program says on stderr: messages, and progress.
 *
 * For mains and the loops that they own; library code neither prints nor exits.
 */
#ifndef TEXTMILL_COMMON_LOG_H
#define TEXTMILL_COMMON_LOG_H

#include <stdint.h>

/* -1 with -q (errors only), 0, 1 and more with -v. Set before threads start. */
extern int log_level;

/* 1: progress even if stderr is no terminal; 0: never; -1 (default): if it is one. */
extern int log_progress;

void log_name(const char *program); /* goes in front of each line; borrowed */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An error after which the program cannot go on: says it and exits with 1. The one exception to
 * "library code neither prints nor exits": for want of memory or threads (mem.h, pool.h). */
void log_fatal(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* "1,234,567", "12.3 MiB" and a time into the caller's buffer of 32 bytes, which is returned. */
char *log_count(char text[32], uint64_t n);
char *log_bytes(char text[32], uint64_t bytes);
char *log_time(char text[32], double seconds); /* "5:02" or "1:05:02" */

double log_seconds(void); /* wall clock, monotonic */

/* A line on a terminal, after the first second, a few times a second: count, rate, and when
 * `total` is known, share and time left. SIGUSR1 prints it at any time, wherever stderr goes
 * (tool.h catches the signal). One progress at a time. */
void progress_begin(const char *unit, uint64_t total); /* total 0: unknown; unit borrowed */
void progress_to(uint64_t done);                       /* cheap; from one thread at a time */
void progress_end(void);                               /* clears the line */

/* The same with a line of the caller's own: where progress_due says 1, one is to be shown now. */
int progress_due(void);
void progress_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_request(void); /* signal-safe: print at the next progress_to */

#endif
