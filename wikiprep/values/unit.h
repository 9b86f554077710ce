/*
 * unit.h - units of measurement, with the names that {{convert}} gives them.
 *
 *     value in the base unit = (value - offset) * scale
 *
 * The units are listed in the sections [units], [unit-pairs] and [unit-powers] of
 * wikiprep/languages/common. The kind of quantity (length, mass) is not stored, so conversions
 * between kinds are not rejected; correct calls never ask for them.
 */
#pragma once

#include "wikiprep/values/span.h"

enum { TEMPERATURE = 1, MORE_PRECISION = 2 }; /* bits of unit.flags */

struct unit {
    const char *codes;         /* separated by '|' */
    const char *symbol, *name; /* British spelling */
    double scale;
    const char *defaults; /* default outputs, space-separated; NULL: none */
    double offset;        /* 0 except for temperatures */
    int flags;
};

/* An output in two units, "ftin". A large unit has `parts` small ones. */
struct unit_pair {
    const char *codes, *large, *small;
    int parts;
};

/* A power of ten before a unit: {{convert|5|e6acre}} means millions of acres. */
struct unit_power {
    const char *prefix, *name;
    int exponent;
};

/* A unit as a call names it, with its power of ten or its pair. */
struct measure {
    const struct unit *unit;
    const struct unit_power *power;
    const struct unit_pair *pair; /* if set, unit is the smaller unit of the pair */
};

/* unit_find returns the unit with this code, or NULL if the code is not known. measure_find sets *m
 * to the measure with this code and returns 1, or returns 0 if the code is not known. */
const struct unit *unit_find(struct span code);
int measure_find(struct span code, struct measure *m);

/* Returns the pair of these two units, or NULL. */
const struct unit_pair *unit_pair(const struct unit *large, const struct unit *small);

double measure_scale(const struct measure *m); /* scale of the unit times the power of ten */

/* Returns `value` converted from the measure `from` to the measure `to`. */
double measure_turn(double value, const struct measure *from, const struct measure *to);

/* ---- tables --------------------------------------------------------------------------------- */

extern const struct unit units[];
extern const struct unit_pair unit_pairs[];
extern const struct unit_power unit_powers[];
extern const size_t units_count, unit_pairs_count, unit_powers_count;
