#include "common/program/trace.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/files/file.h"
#include "common/formats/js.h"

enum { EVENTS = 1000000, SUMS = 256 };

struct event {
    const char *name, *kind;
    int64_t number;
    double began, seconds, flops, bytes;
    int thread;
};

_Atomic int trace_on;

static struct {
    pthread_mutex_t lock;
    double origin;
    int keeps; /* 1: events are kept */
    struct event *events;
    size_t count, cap, dropped, sum_count;
    struct trace_sum sums[SUMS];
} trace = { .lock = PTHREAD_MUTEX_INITIALIZER };

static __thread struct trace_span *innermost;

void trace_start(int events)
{
    trace.origin = log_seconds();
    trace.keeps = events;
    trace_on = 1;
}

void trace_stop(void)
{
    trace_on = 0;
    pthread_mutex_lock(&trace.lock);
    free(trace.events);
    trace.events = NULL;
    trace.count = trace.cap = trace.dropped = trace.sum_count = 0;
    pthread_mutex_unlock(&trace.lock);
}

void trace_enter(struct trace_span *s, const char *kind, const char *name, int64_t number,
                 double flops, double bytes)
{
    *s = (struct trace_span){ innermost, name, kind, number, log_seconds(), 0, flops, bytes };
    innermost = s;
}

/* glibc has gettid() since 2.30. */
static void add_event(const struct trace_span *s, double seconds)
{
    if (trace.keeps && trace.count == EVENTS)
        trace.dropped++;
    else if (trace.keeps)
        mem_next(trace.events, trace.count, trace.cap) = (struct event){
            s->name, s->kind,  s->number, s->began,
            seconds, s->flops, s->bytes,  (int)syscall(SYS_gettid)
        };
}

static void add_sum(const struct trace_span *s, double seconds)
{
    size_t i = 0;
    while (i < trace.sum_count && strcmp(trace.sums[i].name, s->name) != 0)
        i++;
    if (i == SUMS)
        return; /* the program has fewer names than SUMS */
    if (i == trace.sum_count)
        trace.sums[trace.sum_count++] = (struct trace_sum){ .name = s->name, .kind = s->kind };
    struct trace_sum *sum = &trace.sums[i];
    sum->count++;
    sum->seconds += seconds;
    sum->own += seconds - s->inside;
    sum->flops += s->flops;
    sum->bytes += s->bytes;
}

void trace_leave(struct trace_span *s)
{
    if (!s->kind)
        return;
    double seconds = log_seconds() - s->began;
    innermost = s->outer;
    if (s->outer)
        s->outer->inside += seconds;
    pthread_mutex_lock(&trace.lock);
    if (trace_on) {
        add_event(s, seconds);
        add_sum(s, seconds);
    }
    pthread_mutex_unlock(&trace.lock);
}

static int longer(const void *a, const void *b)
{
    double x = ((const struct trace_sum *)a)->own, y = ((const struct trace_sum *)b)->own;
    return (x < y) - (x > y);
}

const struct trace_sum *trace_sums(size_t *count)
{
    pthread_mutex_lock(&trace.lock);
    qsort(trace.sums, trace.sum_count, sizeof *trace.sums, longer);
    *count = trace.sum_count;
    pthread_mutex_unlock(&trace.lock);
    return trace.sums;
}

static void put_event(struct buf *out, const struct event *e)
{
    buf_adds(out, "{\"name\": ");
    js_quote(out, e->name, strlen(e->name));
    buf_addf(out,
             ", \"cat\": \"%s\", \"ph\": \"X\", \"ts\": %.3f, \"dur\": %.3f, \"pid\": 1, "
             "\"tid\": %d, \"args\": {",
             e->kind, 1e6 * (e->began - trace.origin), 1e6 * e->seconds, e->thread);
    const char *comma = "";
    if (e->number >= 0) {
        buf_addf(out, "\"number\": %" PRId64, e->number);
        comma = ", ";
    }
    if (e->flops > 0 || e->bytes > 0)
        buf_addf(out, "%s\"GFLOP/s\": %.2f, \"GB/s\": %.2f", comma,
                 e->seconds > 0 ? e->flops / e->seconds * 1e-9 : 0,
                 e->seconds > 0 ? e->bytes / e->seconds * 1e-9 : 0);
    buf_adds(out, "}}");
}

int trace_write(const char *path, const char *notes)
{
    struct output out;
    SCOPED(buf) line = BUF_INIT;
    if (output_open(&out, path) < 0)
        return -1;
    buf_adds(&line, "{\"traceEvents\": [");
    for (size_t i = 0; i < trace.count; i++) {
        buf_adds(&line, i ? ",\n" : "\n");
        put_event(&line, &trace.events[i]);
        output_write(&out, line.data, line.len);
        buf_clear(&line);
    }
    buf_addf(&line,
             "\n], \"displayTimeUnit\": \"ms\", \"otherData\": {%s%s\"spans left out\": %zu}}\n",
             notes, *notes ? ", " : "", trace.dropped);
    output_write(&out, line.data, line.len);
    return output_close(&out);
}
