#include "train/report/profile.h"

#include "common/base/log.h"
#include "common/program/trace.h"

enum { SIDE = 1024, ROUNDS = 20 };
static const int64_t FAR = 1 << 26, /* floats, more than any cache of a processor holds */
    MEMORY = (int64_t)2 << 30;      /* free bytes that a device needs to hold 4 * FAR floats */

/* Seconds after which a measurement is not repeated. On a busy machine, or one without bf16
 * products, the repetitions took longer than the training. */
static const double ENOUGH = 0.2;

/* A product that takes less time is too small to show what a device can do. */
static const double SHORT = 1e-3;

struct limits {
    double products; /* FLOP/s in the precision of the run */
    double bytes;    /* bytes per second */
};

/* Returns the best FLOP/s of a matrix product; `a` has `count` floats for its operands. */
static double best_product(struct ops *o, enum ops_type precision, struct ops_array a,
                           int64_t count)
{
    int64_t n = SIDE;
    double best = 0, start = log_seconds();
    ops_set_precision(o, precision);
    a.type = ops_operand(o);
    for (int i = 0; i < ROUNDS && (!i || log_seconds() - start < ENOUGH); i++) {
        double began = log_seconds();
        ops_matmul(o, &(struct ops_matmul){ .C = { a, n },
                                            .A = { ops_part(a, n * n), n },
                                            .B = { ops_part(a, 2 * n * n), n },
                                            .M = n,
                                            .N = n,
                                            .K = n });
        ops_finish(o);
        const double seconds = log_seconds() - began, rate = 2.0 * (double)(n * n * n) / seconds;
        best = rate > best ? rate : best;
        if (seconds < SHORT && 12 * n * n <= count)
            n *= 2;
    }
    return best;
}

static struct limits measure(struct ops *o, enum ops_type precision)
{
    struct limits l = { .bytes = 0 };
    const int64_t n = ops_on_host(o) || ops_free_bytes(o) < (uint64_t)MEMORY ? FAR : 4 * FAR;
    struct ops_array a = ops_buffer(o, OPS_F32, n);
    l.products = best_product(o, precision, a, n);
    double start = log_seconds();
    for (int i = 0; i < ROUNDS && (!i || log_seconds() - start < ENOUGH); i++) {
        double began = log_seconds();
        ops_add(o, a, ops_part(a, n / 2), n / 2);
        ops_finish(o);
        double rate = 12.0 * (double)(n / 2) / (log_seconds() - began);
        l.bytes = rate > l.bytes ? rate : l.bytes;
    }
    ops_buffer_free(o, a);
    return l;
}

/* Prints one line. The time of a kernel does not include the kernels that it calls, so these times
 * add up. The time of a phase includes everything in it. */
static void say(const struct trace_sum *s, double seconds, double all, const struct limits *l)
{
    char flops[64] = "", bytes[64] = "";
    if (s->flops > 0 && seconds > 0)
        snprintf(flops, sizeof flops, "%8.1f GFLOP/s %3.0f %%", s->flops / seconds * 1e-9,
                 100 * s->flops / seconds / l->products);
    if (s->bytes > 0 && seconds > 0)
        snprintf(bytes, sizeof bytes, "%7.2f GB/s %3.0f %%", s->bytes / seconds * 1e-9,
                 100 * s->bytes / seconds / l->bytes);
    log_info("%-24s %8" PRId64 " calls %9.3f s %5.1f %%  %22s  %17s", s->name, s->count, seconds,
             all > 0 ? 100 * seconds / all : 0, flops, bytes);
}

static void say_kind(const char *kind, const struct trace_sum *sums, size_t count, double all,
                     const struct limits *l)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(sums[i].kind, kind))
            say(&sums[i], strcmp(kind, "kernel") ? sums[i].seconds : sums[i].own, all, l);
}

/* Prints times and speeds, also relative to the machine's limits. Writes the limits to `notes`. */
static void compare(struct ops *o, enum ops_type precision, double seconds,
                    const struct trace_sum *sums, size_t count, char *notes, size_t bytes)
{
    const struct limits l = measure(o, precision);
    const char *name = precision == OPS_BF16 ? "bf16" : "f32";
    log_info(
        "profile: this machine: %.1f GFLOP/s %s, %.2f GB/s; the time of a kernel does not include the kernels that it calls",
        l.products * 1e-9, name, l.bytes * 1e-9);
    say_kind("kernel", sums, count, seconds, &l);
    say_kind("phase", sums, count, seconds, &l);
    say_kind("disk", sums, count, seconds, &l);
    snprintf(notes, bytes, "\"GFLOP/s %s\": %.1f, \"GB/s\": %.2f, \"kernels\": \"%s\"", name,
             l.products * 1e-9, l.bytes * 1e-9, ops_describe(o));
}

void profile_add(double *seconds, double sign)
{
    static const struct {
        const char *begin; /* what the names begin with */
        enum metrics_time kind;
    } kinds[] = {
        { "ops_matmul", TIME_PRODUCTS },    { "ops_linear", TIME_PRODUCTS },
        { "ops_logits", TIME_PRODUCTS },    { "ops_attention", TIME_ATTENTION },
        { "ops_cross_entropy", TIME_LOSS }, { "ops_loss", TIME_LOSS },
        { "ops_columns", TIME_LOSS },       { "ops_span_loss", TIME_LOSS },
        { "ops_adam", TIME_OPTIMIZER },     { "ops_sgd", TIME_OPTIMIZER },
        { "ops_lamb", TIME_OPTIMIZER },     { "waiting for", TIME_WAITING },
    };
    size_t count;
    const struct trace_sum *sums = trace_sums(&count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (!strncmp(sums[i].name, kinds[k].begin, strlen(kinds[k].begin)))
                seconds[kinds[k].kind] += sign * sums[i].own,
                    seconds[TIME_OTHER] -= sign * sums[i].own;
}

int profile_finish(const char *path, struct ops *o, enum ops_type precision, double seconds)
{
    char notes[256] = "";
    size_t count;
    trace_on = 0; /* what follows is not part of the training */
    const struct trace_sum *sums = trace_sums(&count);
    if (count)
        compare(o, precision, seconds, sums, count, notes, sizeof notes);
    else
        log_info("profile: nothing was computed");
    int result = trace_write(path, notes);
    trace_stop();
    return result;
}
