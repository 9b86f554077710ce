/*
 * report.h - a result: key=value lines, or a JSON object on one line.
 *
 * In a line a value's line ends stand as blanks; JSON has them as they are.
 */
#ifndef TEXTMILL_EVAL_REPORT_H
#define TEXTMILL_EVAL_REPORT_H

#include <stdint.h>

#include "common/buf.h"

struct report {
    int json;
    struct buf text;
};
#define REPORT_INIT(json)                                                                          \
    {                                                                                              \
        json, BUF_INIT                                                                             \
    }

void report_text(struct report *r, const char *key, const char *value);
void report_text_n(struct report *r, const char *key, const char *value, size_t n);
void report_count(struct report *r, const char *key, uint64_t value);
void report_real(struct report *r, const char *key, double value);  /* 6 significant digits */
void report_exact(struct report *r, const char *key, double value); /* as many as tell it apart */

/* Appends the fewest digits that tell a finite number apart from all others. */
void report_digits(struct buf *out, double value);

/* The finished text, ending in a line end; valid until report_release. */
const char *report_end(struct report *r);

/* Prints the finished text to stdout, an empty line between two reports of key=value lines, and
 * releases the report. */
int report_print(struct report *r);
void report_release(struct report *r);

#endif
