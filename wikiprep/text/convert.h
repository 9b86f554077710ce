/*
 * convert.h - {{convert|5|mi|km}}: "5 miles (8.0 km)".
 *
 * Converts values between units, with the wording and rounding of English Wikipedia's template
 * (en.wikipedia.org/wiki/Template:Convert/doc). If no precision is given, the result is about as
 * precise as the input and has at least two significant digits. Temperatures keep three significant
 * digits of the value in kelvins. Supported: values, fractions, exponents, ranges, two units in one
 * value (6 ft 1 in), several outputs, and the options abbr, adj, disp, order, sp, sigfig and round.
 * If the unit is not known, the value and the unit's code are shown.
 */
#pragma once

#include "wikiprep/text/arguments.h"

/* Appends the text of the call and returns 1. Returns 0 if the call has no number. `abbreviated`:
 * show units as symbols, as {{cvt}} does. */
int convert_render(const struct arguments *a, int abbreviated, struct buf *out);
