/*
 * report.h - formats results as key=value lines, or as a JSON object on one line.
 *
 * In key=value lines, line ends within a value become spaces. JSON keeps them.
 */
#pragma once

#include "common/base/base.h"

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

/* report_real writes 6 digits, in JSON all digits; report_exact writes all (report_digits). */
void report_real(struct report *r, const char *key, double value);
void report_exact(struct report *r, const char *key, double value);
/* Writes the mean of n independent numbers, from their sum, and as "KEY_stderr" its standard error,
 * from the sum of their squares (score_error). */
void report_mean(struct report *r, const char *key, double sum, double squares, uint64_t n);
/* Writes [a, b, ..] with all digits; n >= 1. */
void report_reals(struct report *r, const char *key, const double *values, size_t n);

/* Appends a finite number with the fewest digits (15 to 17) that read back as the same number. */
void report_digits(struct buf *out, double value);

/* Ends the report and returns its text, which ends in a line end and is valid until
 * report_release. */
const char *report_end(struct report *r);

/* Ends the report, prints it to stdout and releases it. An empty line is printed before each report
 * of key=value lines but the first. Returns 0, or -1 with an error if printing fails. */
int report_print(struct report *r);
void report_release(struct report *r);
