/*
 * convert.h - {{convert|5|mi|km}}: "5 miles (8.0 km)".
 *
 * Figures in units and what they are in others, worded and rounded as English Wikipedia's template
 * does (en.wikipedia.org/wiki/Template:Convert/doc): without a precision the result is about as
 * exact as the input, with at least two significant figures; temperatures keep three of kelvins.
 * Known: values, fractions, exponents, ranges, two units in one (6 ft 1 in), several outputs,
 * abbr, adj, disp, order, sp, sigfig, round. Of a unit that is not known the value and the unit's
 * code are shown.
 */
#ifndef TEXTMILL_WIKIPREP_TEXT_CONVERT_H
#define TEXTMILL_WIKIPREP_TEXT_CONVERT_H

#include "common/buf.h"
#include "wikiprep/text/arguments.h"

/* Appends what is shown, and returns 1; 0 when there is no number. `abbreviated`: {{cvt}}. */
int convert_render(const struct arguments *a, int abbreviated, struct buf *out);

#endif
