#include "train/schedule.h"

#include <math.h>

#include "common/err.h"

int schedule_init(struct schedule *s, enum schedule_kind kind, double peak, double floor,
                  int64_t steps, double warmup)
{
    if (floor > peak)
        return err_set("minimum-learning-rate %g is above learning-rate %g", floor, peak);
    if (warmup >= 1 && warmup != nearbyint(warmup))
        return err_set("warmup %g is neither a share below 1 nor a whole number of steps", warmup);
    if (warmup > (double)steps)
        return err_set("warmup of %g steps is longer than the training of %lld", warmup,
                       (long long)steps);
    int64_t w = (int64_t)(warmup < 1 ? warmup * (double)steps : warmup);
    *s = (struct schedule){ kind, peak, floor, steps, w };
    return 0;
}

double schedule_rate(const struct schedule *s, int64_t t)
{
    if (t < s->warmup)
        return s->peak * (double)(t + 1) / (double)s->warmup;
    if (s->kind == SCHEDULE_CONSTANT)
        return s->peak;
    double u = s->steps > s->warmup ? (double)(t - s->warmup) / (double)(s->steps - s->warmup) : 1;
    if (u > 1)
        u = 1;
    double share = s->kind == SCHEDULE_LINEAR ? 1 - u : 0.5 * (1 + cos(M_PI * u));
    return s->floor + (s->peak - s->floor) * share;
}
