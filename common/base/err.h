/*
 * err.h - the error message of the current thread.
 *
 * A function that fails returns -1 (a constructor returns NULL) and sets a one-line message. The
 * message says what failed and where: file, record, byte offset. It is in lower case, has no full
 * stop, and names the failure first:
 *
 *     return err_set("cannot open '%s': %s", path, strerror(errno));
 *
 * Only main programs print it. Each thread has its own message; pool.h copies a worker thread's
 * message to the calling thread.
 */
#pragma once

#include "common/base/std.h"

/* Sets the thread's error message, which has at most 1023 bytes: err_tame shortens a longer one.
 * Always returns -1. */
int err_set(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Puts context in front of the thread's error message: "<context>: <error>". A context of
 * more than 511 bytes is cut there. Always returns -1. */
int err_in(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the thread's error message, or "" if there was no error. Valid until the thread's next
 * err_ call. */
const char *err_get(void);

/* Sets a usage error: as err_set, but the main program exits with status 2. */
int err_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns 1 if the thread's last error was set by err_usage, else 0. */
int err_is_usage(void);

/* Copies the message `text` to `out` in a form that is safe for a terminal. Control characters
 * (err_control), which file names may contain, are written in the form \x1b. Text in quotes that is
 * longer than 300 bytes is shortened in its middle. The result is cut to `size` bytes with its NUL.
 * All messages of log.h go through this function, except progress lines. */
void err_tame(char *out, size_t size, const char *text);

/* Returns the length in bytes of the character that text[0..n) begins with if a terminal may act on
 * it rather than show it: control characters (C0, DEL and, in UTF-8, C1) and those that change the
 * direction of text. Returns 0 for other characters. */
size_t err_control(const char *text, size_t n);

/* Saves and restores the error, because cleaning up after a failure may fail, too, and the first
 * error is the one to report:
 *
 *     struct err why = err_keep();
 *     ... clear up ...
 *     return err_restore(&why); */
struct err {
    char text[1024];
    int usage;
};
struct err err_keep(void);
int err_restore(const struct err *why); /* sets the error to `why` again; returns -1 */
