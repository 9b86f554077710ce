#include "train/step/schedule.h"

#include <errno.h>
#include <math.h>

/* Returns the number of steps that `value` stands for: a fraction of `steps` if it is below 1, else
 * a number of steps. Returns -1 with an error that contains `name` and `option`. */
static int64_t span(double value, int64_t steps, const char *name, const char *option)
{
    if (value >= 1 && value != nearbyint(value))
        return err_set("%s %g is neither a share below 1 nor a whole number of steps", name, value);
    if (value > (double)steps)
        return err_set("%s of %g steps is longer than the training of %lld: give a smaller %s",
                       name, value, (long long)steps, option);
    /* a share such as 0.29 of 100, which is just below 29 as a double, is 29 */
    return (int64_t)(value < 1 ? value * (double)steps * (1 + 1e-15) : value);
}

/* The schedules with a name. Numbers after the name replace the defaults. */
static const struct {
    const char *name;
    int numbers;
    double defaults[2], least[2], most[2];
} words[] = {
    [SCHEDULE_COSINE] = { "cosine" },
    [SCHEDULE_LINEAR] = { "linear" },
    [SCHEDULE_CONSTANT] = { "constant" },
    [SCHEDULE_POLYNOMIAL] = { "polynomial", 1, { 1 }, { 0 }, { 100 } },
    [SCHEDULE_EXPONENTIAL] = { "exponential", 2, { 0.05, 500 }, { 0, 1 }, { 1e3, 1e15 } },
    [SCHEDULE_WSD] = { "wsd", 1, { 0.2 }, { 0 }, { 1e15 } },
};

/* Reads the numbers of a schedule from `text`, what follows its name, such as ":0.05:500". A
 * missing number gets its default. Returns 0, or -1, without an error set, if one is malformed or
 * out of bounds, or if there are too many. */
static int take_numbers(struct schedule *s, const char *text)
{
    for (int i = 0; i < words[s->kind].numbers; i++) {
        char *end;
        s->numbers[i] = words[s->kind].defaults[i];
        if (*text != ':')
            continue;
        const double x = s->numbers[i] = strtod(text + 1, &end);
        if (end == text + 1 || !(x >= words[s->kind].least[i] && x <= words[s->kind].most[i]) ||
            (i && x != nearbyint(x))) /* a second number counts updates */
            return -1;
        text = end;
    }
    return *text ? -1 : 0;
}

/* Reads "0:RATE,STEP:RATE,..." into the points. */
static int take_rates(struct schedule *s, const char *text)
{
    size_t room = 0;
    s->kind = SCHEDULE_RATES;
    for (const char *at = text;; at++) {
        const int n = (int)strcspn(at, ",");
        char *colon, *end;
        errno = 0;
        const long long step = strtoll(at, &colon, 10);
        const double rate = *colon == ':' ? strtod(colon + 1, &end) : -1;
        if (colon == at || *colon != ':' || end == colon + 1 || end != at + n || step < 0 ||
            errno || !isfinite(rate) || rate < 0)
            return err_set("--schedule: rate '%.*s' is not of the form STEP:RATE", n, at);
        if (s->count ? step <= s->points[s->count - 1].step : step)
            return err_set("--schedule: rate '%.*s' %s", n, at,
                           s->count ? "must be for a later step than the rate before it"
                                    : "must be for step 0");
        mem_next(s->points, s->count, room) = (struct schedule_point){ step, rate };
        at += n;
        if (!*at)
            return 0;
    }
}

int schedule_is_rates(const char *text)
{
    return *text >= '0' && *text <= '9';
}

static int parse(struct schedule *s, const char *text)
{
    const size_t n = strcspn(text, ":");
    if (schedule_is_rates(text))
        return take_rates(s, text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (bytes_are(text, n, words[i].name)) {
            s->kind = (enum schedule_kind)i;
            return take_numbers(s, text + n) < 0
                       ? err_usage("--schedule '%s': the numbers behind %s are not " SCHEDULE_WORDS,
                                   text, words[i].name)
                       : 0;
        }
    return err_usage("--schedule '%s' is none of " SCHEDULE_WORDS, text);
}

static int set_cooldown(struct schedule *s)
{
    s->cooldown = span(s->numbers[0], s->steps, "cooldown", "--schedule wsd:X");
    if (s->cooldown < 0 || s->cooldown + s->warmup <= s->steps)
        return s->cooldown < 0 ? -1 : 0;
    return err_set("warmup of %" PRId64 " steps and cooldown of %" PRId64
                   " are longer than the training of %" PRId64,
                   s->warmup, s->cooldown, s->steps);
}

int schedule_init(struct schedule *s, const char *text, double peak, double floor, int64_t steps,
                  double warmup)
{
    *s = (struct schedule){ .peak = peak, .floor = floor, .steps = steps };
    if (parse(s, text) < 0)
        return -1;
    if (s->kind == SCHEDULE_CONSTANT)
        s->floor = peak;
    for (size_t i = 0; i < s->count && (!steps || s->points[i].step < steps); i++) {
        s->floor = s->points[i].rate;
        s->peak = i && s->peak > s->floor ? s->peak : s->floor;
    }
    if (s->floor > s->peak)
        return err_set("minimum-learning-rate %g is above learning-rate %g", floor, peak);
    s->warmup = s->count ? 0 : span(warmup, steps, "warmup", "--warmup");
    if (s->warmup < 0)
        return -1;
    return s->kind == SCHEDULE_WSD && steps ? set_cooldown(s) : 0;
}

void schedule_release(struct schedule *s)
{
    free(s->points);
    *s = (struct schedule){ 0 };
}

static double table_rate(const struct schedule *s, int64_t t)
{
    size_t i = s->count;
    assert(s->count && t >= 0);
    while (s->points[--i].step > t) /* the first point is for step 0 */
        ;
    return s->points[i].rate;
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
    case SCHEDULE_POLYNOMIAL: return pow(1 - u, s->numbers[0]);
    case SCHEDULE_WSD:
        if (s->steps - t >= s->cooldown)
            return 1;
        return s->steps > t ? (double)(s->steps - t) / (double)s->cooldown : 0;
    default: return 1;
    }
}

double schedule_rate(const struct schedule *s, int64_t t)
{
    if (s->kind == SCHEDULE_RATES)
        return table_rate(s, t);
    if (t < s->warmup)
        return s->peak * (double)(t + 1) / (double)s->warmup;
    if (s->kind == SCHEDULE_EXPONENTIAL) {
        int64_t turns = (t - s->warmup) / (int64_t)s->numbers[1];
        return fmax(s->floor, s->peak * exp(-s->numbers[0] * (double)turns));
    }
    return s->floor + (s->peak - s->floor) * height(s, t);
}
