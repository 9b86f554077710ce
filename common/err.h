/*
 * err.h - the error of the current thread, as a sentence.
 *
 * A function that fails returns -1 (a constructor NULL) and leaves one line that says what
 * failed, and where: file, record, byte offset. Lower case, no full stop, the failure first:
 *
 *     return err_set("cannot open '%s': %s", path, strerror(errno));
 *
 * Only a main prints it. Each thread has its own line; pool.h carries a worker's to its caller.
 */
#ifndef TEXTMILL_COMMON_ERR_H
#define TEXTMILL_COMMON_ERR_H

#include <stddef.h>

/* Replaces the thread's error. Returns -1, always. */
int err_set(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Puts context in front of the thread's error: "<context>: <error>". Returns -1, always. */
int err_in(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The thread's error; "" when there was none. Valid until the next err_ call of the thread. */
const char *err_get(void);

/* A usage error: as err_set, but the main exits with status 2. */
int err_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* 1 when the thread's last error came from err_usage. */
int err_is_usage(void);

/* Makes a message fit for a terminal: control characters, which names in files may have, are
 * written as \x1b; what stands between quotes and is longer than 300 bytes loses its middle.
 * Everything printed on stderr goes through it (log.h). Cuts at `size`. */
void err_tame(char *out, size_t size, const char *text);

/* What failed first is what to say, though clearing up after it may fail too:
 *
 *     struct err why = err_keep();
 *     ... clear up ...
 *     return err_restore(&why);
 */
struct err {
    char text[1024];
    int usage;
};
struct err err_keep(void);
int err_restore(const struct err *why); /* Returns -1, always. */

#endif
