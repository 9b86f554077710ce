/*
 * figure.h - figures as {{convert}} reads and shows them: 1,500, 2.5×10⁶, 3+1⁄2, −40.
 */
#ifndef TEXTMILL_WIKIPREP_VALUES_FIGURE_H
#define TEXTMILL_WIKIPREP_VALUES_FIGURE_H

#include "common/buf.h"
#include "wikiprep/values/span.h"

enum { FIGURE_MAX = 32 }; /* characters of one that is read */

struct figure {
    double value;
    int decimals;    /* digits behind the point, less the exponent; negative: zeros at the end */
    int denominator; /* of a fraction; 0: none */
    char text[FIGURE_MAX * 4]; /* as it is shown */
};

/* 1 when s is a figure. */
int figure_read(struct span s, struct figure *x);

/* Half away from zero; precision: digits behind the point, negative: in front of it. */
double figure_round(double v, int precision);

/* Appends v, rounded; large and small ones as 1.5×10⁹. */
void figure_put(struct buf *out, double v, int precision);

void figure_put_superscript(struct buf *out, int n);

#endif
