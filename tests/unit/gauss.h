/*
 * gauss.h - random numbers with the normal distribution, for tests.
 */
#pragma once

#include <math.h>

#include "common/base/rng.h"

/* Returns a standard normal number, from two numbers of the sequence (Box and Muller 1958). */
static inline double rng_normal(struct rng *r)
{
    double u = 1.0 - rng_real(r); /* (0, 1] */
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * rng_real(r));
}
