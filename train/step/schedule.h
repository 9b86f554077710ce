/*
 * schedule.h - the learning rate of each update.
 *
 * With T updates, w of them warm-up, peak P and floor F, update t = 0 .. T-1 has the rate
 *
 *     t <  w   P (t+1) / w                            the first rate is above 0
 *     t >= w   constant     P
 *              linear       F + (P-F) (1 - u)            u = (t-w) / (T-w), in [0, 1)
 *              cosine       F + (P-F) (1 + cos(pi u))/2  (Loshchilov and Hutter 2017)
 *              polynomial   F + (P-F) (1 - u)^power
 *              exponential  P exp(-decay_rate floor((t-w) / decay_steps)), F at least
 *              wsd          P, and in the last c updates F + (P-F) (T-t) / c: warm-up, stable,
 *                           decay (Hu et al. 2024)
 *
 *     custom   the rate of the table entry with the greatest step <= t, for all t (no warm-up)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum schedule_kind {
    SCHEDULE_COSINE,
    SCHEDULE_LINEAR,
    SCHEDULE_CONSTANT,
    SCHEDULE_POLYNOMIAL,
    SCHEDULE_EXPONENTIAL,
    SCHEDULE_WSD,
    SCHEDULE_CUSTOM
};
/* words for the kinds, in the order of the enum */
#define SCHEDULE_WORDS "cosine|linear|constant|polynomial|exponential|wsd|custom"

struct schedule_point {
    int64_t step;
    double rate;
};

struct schedule {
    enum schedule_kind kind;
    double peak, floor;
    int64_t steps, warmup;         /* T and w */
    double power;                  /* power of a polynomial schedule; schedule_init sets 1 */
    double decay_rate;             /* of an exponential schedule; schedule_init sets 0 */
    int64_t decay_steps;           /* of an exponential schedule; schedule_init sets 1 */
    int64_t cooldown;              /* c of a wsd schedule; schedule_init sets 0 */
    struct schedule_point *points; /* table of a custom schedule, ordered by step; the first step is
                                    * 0 */
    size_t count;
};

/* Sets up a schedule of `steps` updates. `warmup` below 1 is a fraction of the steps, else a whole
 * number of steps. Returns 0, or -1 with an error when `warmup` is neither or is longer than the
 * training, or when the floor is above the peak. */
int schedule_init(struct schedule *s, enum schedule_kind kind, double peak, double floor,
                  int64_t steps, double warmup);
void schedule_release(struct schedule *s); /* fine on a zeroed struct */

/* Sets the cooldown of a wsd schedule: below 1 a fraction of the steps, else a number of steps.
 * Returns 0, or -1 with an error when warm-up and cooldown together are longer than the
 * training. */
int schedule_set_cooldown(struct schedule *s, double cooldown);

/* Sets the table of a custom schedule from texts "STEP:RATE". Steps must rise, from 0. Returns 0,
 * or -1 with an error. */
int schedule_set_points(struct schedule *s, const char *const *texts, size_t count);

/* Returns the learning rate of update t (from 0). */
double schedule_rate(const struct schedule *s, int64_t t);
