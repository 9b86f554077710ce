/*
 * schedule.h - the learning rate of each update.
 *
 * With T updates, w of them warm-up, peak P and floor F, update t = 0 .. T-1 has the rate
 *
 *     t <  w   P (t+1) / w                            the first update already moves
 *     t >= w   constant  P
 *              linear    F + (P-F) (1 - u)            u = (t-w) / (T-w), in [0, 1)
 *              cosine    F + (P-F) (1 + cos(pi u))/2  (Loshchilov and Hutter 2017)
 */
#ifndef TEXTMILL_SCHEDULE_H
#define TEXTMILL_SCHEDULE_H

#include <stdint.h>

enum schedule_kind { SCHEDULE_COSINE, SCHEDULE_LINEAR, SCHEDULE_CONSTANT };
#define SCHEDULE_WORDS "cosine|linear|constant" /* in the order of the enum */

struct schedule {
    enum schedule_kind kind;
    double peak, floor;
    int64_t steps, warmup; /* T and w */
};

/* `warmup` below 1 is a share of the steps, else a number of them. -1 with an error when it is
 * neither, or is longer than the training, or the floor is above the peak. */
int schedule_init(struct schedule *s, enum schedule_kind kind, double peak, double floor,
                  int64_t steps, double warmup);

double schedule_rate(const struct schedule *s, int64_t t);

#endif
