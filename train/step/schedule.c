#include "train/step/schedule.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/err.h"
#include "common/base/mem.h"

/* Returns the number of steps that `value` stands for: a fraction of `steps` if it is below 1, else
 * a number of steps. Returns -1 with an error that contains `name`. */
static int64_t span(double value, int64_t steps, const char *name)
{
    if (value >= 1 && value != nearbyint(value))
        return err_set("%s %g is neither a share below 1 nor a whole number of steps", name, value);
    if (value > (double)steps)
        return err_set("%s of %g steps is longer than the training of %lld: give a smaller --%s",
                       name, value, (long long)steps, name);
    return (int64_t)(value < 1 ? value * (double)steps : value);
}

int schedule_init(struct schedule *s, enum schedule_kind kind, double peak, double floor,
                  int64_t steps, double warmup)
{
    if (floor > peak)
        return err_set("minimum-learning-rate %g is above learning-rate %g", floor, peak);
    int64_t w = span(warmup, steps, "warmup");
    *s = (struct schedule){ .kind = kind,
                            .peak = peak,
                            .floor = floor,
                            .steps = steps,
                            .warmup = w,
                            .power = 1,
                            .decay_steps = 1 };
    return w < 0 ? -1 : 0;
}

void schedule_release(struct schedule *s)
{
    free(s->points);
    *s = (struct schedule){ 0 };
}

int schedule_set_cooldown(struct schedule *s, double cooldown)
{
    int64_t c = span(cooldown, s->steps, "cooldown");
    if (c < 0)
        return -1;
    if (c + s->warmup > s->steps)
        return err_set("warmup of %lld steps and cooldown of %lld are longer than the training of "
                       "%lld",
                       (long long)s->warmup, (long long)c, (long long)s->steps);
    s->cooldown = c;
    return 0;
}

/* Parses a text "STEP:RATE" into *p. Returns 0, or -1 with an error. */
static int parse_point(struct schedule_point *p, const char *text)
{
    char *colon, *end;
    errno = 0;
    long long step = strtoll(text, &colon, 10);
    if (colon == text || *colon != ':' || step < 0 || errno)
        return err_set("rate '%s' is not of the form STEP:RATE", text);
    double rate = strtod(colon + 1, &end);
    if (end == colon + 1 || *end || !isfinite(rate) || rate < 0)
        return err_set("rate '%s' is not of the form STEP:RATE", text);
    *p = (struct schedule_point){ step, rate };
    return 0;
}

int schedule_set_points(struct schedule *s, const char *const *texts, size_t count)
{
    if (!count)
        return err_set("the custom schedule has no rates: give --rates 0:RATE and more");
    free(s->points);
    s->points = mem_zalloc(count, sizeof *s->points);
    s->count = count;
    for (size_t i = 0; i < count; i++) {
        if (parse_point(&s->points[i], texts[i]) < 0)
            return -1;
        if (i ? s->points[i].step <= s->points[i - 1].step : s->points[i].step)
            return err_set("rate '%s' %s", texts[i],
                           i ? "must be for a later step than the rate before it"
                             : "must be for step 0");
    }
    return 0;
}

static double table_rate(const struct schedule *s, int64_t t)
{
    size_t low = 0, high = s->count; /* points[low].step <= t < points[high].step */
    assert(s->count && t >= 0);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->points[middle].step <= t)
            low = middle;
        else
            high = middle;
    }
    return s->points[low].rate;
}

/* Returns the rate at t as a fraction of the way from the floor (0) to the peak (1). */
static double height(const struct schedule *s, int64_t t)
{
    double u = s->steps > s->warmup ? (double)(t - s->warmup) / (double)(s->steps - s->warmup) : 1;
    if (u > 1)
        u = 1;
    switch (s->kind) {
    case SCHEDULE_LINEAR: return 1 - u;
    case SCHEDULE_COSINE: return 0.5 * (1 + cos(M_PI * u));
    case SCHEDULE_POLYNOMIAL: return pow(1 - u, s->power);
    case SCHEDULE_WSD:
        if (s->steps - t >= s->cooldown)
            return 1;
        return s->steps > t ? (double)(s->steps - t) / (double)s->cooldown : 0;
    default: return 1;
    }
}

double schedule_rate(const struct schedule *s, int64_t t)
{
    if (s->kind == SCHEDULE_CUSTOM)
        return table_rate(s, t);
    if (t < s->warmup)
        return s->peak * (double)(t + 1) / (double)s->warmup;
    if (s->kind == SCHEDULE_CONSTANT)
        return s->peak;
    if (s->kind == SCHEDULE_EXPONENTIAL) {
        int64_t turns = (t - s->warmup) / s->decay_steps;
        return fmax(s->floor, s->peak * exp(-s->decay_rate * (double)turns));
    }
    return s->floor + (s->peak - s->floor) * height(s, t);
}
