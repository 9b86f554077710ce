/*
 * schedule.h - the learning rate of each update.
 *
 * With T updates, w of them warm-up, peak P and floor F, update t = 0 .. T-1 has the rate
 *
 *     t <  w   P (t+1) / w                            the first rate is above 0
 *     t >= w   constant     P
 *              linear       F + (P-F) (1 - u)            u = (t-w) / (T-w), in [0, 1)
 *              cosine       F + (P-F) (1 + cos(pi u))/2  (Loshchilov and Hutter 2017)
 *              polynomial:A     F + (P-F) (1 - u)^A
 *              exponential:D:N  P exp(-D floor((t-w) / N)), F at least
 *              wsd:C            P, and in the last c updates F + (P-F) (T-t) / c: warm-up, stable,
 *                               decay (Hu et al. 2024). C below 1 is a share of T, else c
 *
 *     0:RATE,STEP:RATE,...  the rate of the entry with the greatest step <= t, for all t (no
 *                           warm-up)
 *
 * The words are those of --schedule. The defaults of their numbers are in schedule.c.
 */
#pragma once

#include "common/base/base.h"

enum schedule_kind {
    SCHEDULE_COSINE,
    SCHEDULE_LINEAR,
    SCHEDULE_CONSTANT,
    SCHEDULE_POLYNOMIAL,
    SCHEDULE_EXPONENTIAL,
    SCHEDULE_WSD,
    SCHEDULE_RATES
};
#define SCHEDULE_WORDS "cosine|linear|constant|polynomial[:A]|exponential[:X:N]|wsd[:X]|0:RATE,..."

struct schedule_point {
    int64_t step;
    double rate;
};

struct schedule {
    enum schedule_kind kind;
    double peak, floor;            /* the highest rate and the one at the end */
    int64_t steps, warmup;         /* T and w */
    double numbers[2];             /* those after the word: A; D and N; C */
    int64_t cooldown;              /* c of a wsd schedule */
    struct schedule_point *points; /* SCHEDULE_RATES: ordered by step; the first step is 0 */
    size_t count;
};

/* Sets up a schedule of `steps` updates (0: not known yet); `text` is a value of --schedule.
 * `warmup` below 1 is a fraction of the steps, else a whole number of steps. Returns 0, or -1 with
 * an error when the text is no schedule, when `warmup` is neither, when warm-up and cooldown are
 * longer than the training, or when the floor is above the peak. A constant schedule and one of
 * rates ignore the floor, and one of rates also the peak and the warm-up. The caller releases the
 * schedule in any case. */
int schedule_init(struct schedule *s, const char *text, double peak, double floor, int64_t steps,
                  double warmup);
void schedule_release(struct schedule *s); /* fine on a zeroed struct */

/* Returns 1 if the value of --schedule is a list of rates, which begins with a digit, else 0. */
int schedule_is_rates(const char *text);

/* Returns the learning rate of update t (from 0). */
double schedule_rate(const struct schedule *s, int64_t t);
