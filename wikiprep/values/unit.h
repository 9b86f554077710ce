/*
 * unit.h - units of measurement, as {{convert}} names them.
 *
 *     value in the base unit = (value - offset) * scale
 *
 * The sections [units], [unit-pairs] and [unit-powers] of wikiprep/languages/common list them.
 * Units of one kind can be turned into one another; no kind is noted, since calls that are right do
 * not mix them.
 */
#ifndef TEXTMILL_WIKIPREP_VALUES_UNIT_H
#define TEXTMILL_WIKIPREP_VALUES_UNIT_H

#include "wikiprep/values/span.h"

enum { TEMPERATURE = 1, MORE_PRECISION = 2 };

struct unit {
    const char *codes;         /* '|' between */
    const char *symbol, *name; /* British */
    double scale;
    const char *defaults; /* outputs, a space between; NULL: the value alone is shown */
    double offset;
    int flags;
};

/* Outputs in two units, "ftin": the larger holds `parts` of the smaller. */
struct unit_pair {
    const char *codes, *large, *small;
    int parts;
};

/* {{convert|5|e6acre}}: millions of acres. */
struct unit_power {
    const char *prefix, *name;
    int exponent;
};

/* A unit as it is asked for. */
struct measure {
    const struct unit *unit;
    const struct unit_power *power;
    const struct unit_pair *pair; /* then unit is the smaller of the two */
};

/* NULL, and 0, when the code is not known. */
const struct unit *unit_find(struct span code);
int measure_find(struct span code, struct measure *m);

/* The pair of just these, or NULL. */
const struct unit_pair *unit_pair(const struct unit *large, const struct unit *small);

double measure_scale(const struct measure *m); /* the unit's, with the power */
double measure_turn(double value, const struct measure *from, const struct measure *to);

/* ---- tables --------------------------------------------------------------------------------- */

extern const struct unit units[];
extern const struct unit_pair unit_pairs[];
extern const struct unit_power unit_powers[];
extern const size_t units_count, unit_pairs_count, unit_powers_count;

#endif
