/*
 * schedule.h - the learning rate of each update.
 *
 * With T updates, w of them warm-up, peak P and floor F, update t = 0 .. T-1 has the rate
 *
 *     t <  w   P (t+1) / w                            the first update already moves
 *     t >= w   constant     P
 *              linear       F + (P-F) (1 - u)            u = (t-w) / (T-w), in [0, 1)
 *              cosine       F + (P-F) (1 + cos(pi u))/2  (Loshchilov and Hutter 2017)
 *              polynomial   F + (P-F) (1 - u)^power
 *              exponential  P exp(-decay_rate floor((t-w) / decay_steps)), F at least
 *              wsd          P, and in the last c updates F + (P-F) (T-t) / c: warm-up, stable,
 *                           decay (Hu et al. 2024)
 *
 *     custom   a table of steps and rates: the rate at the greatest step <= t, for all t
 */
#ifndef TEXTMILL_TRAIN_SCHEDULE_H
#define TEXTMILL_TRAIN_SCHEDULE_H

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
/* in the order of the enum */
#define SCHEDULE_WORDS "cosine|linear|constant|polynomial|exponential|wsd|custom"

struct schedule_point {
    int64_t step;
    double rate;
};

struct schedule {
    enum schedule_kind kind;
    double peak, floor;
    int64_t steps, warmup;         /* T and w */
    double power;                  /* of polynomial; 1 after schedule_init */
    double decay_rate;             /* of exponential; 0 after schedule_init */
    int64_t decay_steps;           /* 1 after schedule_init */
    int64_t cooldown;              /* c of wsd; 0 after schedule_init */
    struct schedule_point *points; /* of custom, by step from 0 */
    size_t count;
};

/* `warmup` below 1 is a share of the steps, else a number of them. -1 with an error when it is
 * neither, or is longer than the training, or the floor is above the peak. */
int schedule_init(struct schedule *s, enum schedule_kind kind, double peak, double floor,
                  int64_t steps, double warmup);
void schedule_release(struct schedule *s); /* fine on a zeroed struct */

/* Sets the cooldown, as a share below 1 or a number of steps; it ends where warm-up begins, at
 * the latest. */
int schedule_set_cooldown(struct schedule *s, double cooldown);

/* Sets the table from texts "STEP:RATE", steps rising from 0. */
int schedule_set_points(struct schedule *s, const char *const *texts, size_t count);

double schedule_rate(const struct schedule *s, int64_t t);

#endif
