/*
 * figure.h - numbers in the notation of {{convert}}: 1,500, 2.5×10⁶, 3+1⁄2, −40.
 */
#pragma once

#include "wikiprep/values/span.h"

enum { FIGURE_MAX = 32 }; /* maximum length of a number in the input */

struct figure {
    double value;
    int decimals;    /* digits after the point minus the exponent; negative: zeros at the end */
    int denominator; /* denominator of a fraction; 0: not a fraction */
    char text[FIGURE_MAX * 4]; /* the number in output notation */
};

/* Reads the number s into *x. Returns 1, or 0 if s is not a number. */
int figure_read(struct span s, struct figure *x);

/* Returns v rounded to `precision` digits after the point (negative: before it), halves away from
 * zero. */
double figure_round(double v, int precision);

/* Appends v rounded by figure_round. Values from 1e9 on and below 1e-6 are written as 1.5×10⁹. */
void figure_put(struct buf *out, double v, int precision);

/* figure_put_raised appends s in superscript characters, "⁻¹"; figure_put_power appends ×10ⁿ. */
void figure_put_raised(struct buf *out, struct span s);
void figure_put_power(struct buf *out, int n);
