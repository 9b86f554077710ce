/*
 * trace.h - measures where time is spent: named spans of work, summed by name and stored as a
 * trace.
 *
 * Tracing is off until trace_start; until then a span costs one test. Spans of a thread nest. A
 * span's own time is its time without the spans inside it. The arithmetic and bytes of a span are
 * those of the algorithm: each number read or written once, whatever caches do.
 *
 * The file is JSON in the Trace Event Format ("X" events, microseconds), which chrome://tracing and
 * ui.perfetto.dev open. The file has the first million spans only; the sums include all spans.
 */
#pragma once

#include "common/base/base.h"

struct trace_span {
    struct trace_span *outer;
    const char *name,
        *kind;      /* kind: "kernel", "phase", "disk"; NULL: tracing was off when the span began */
    int64_t number; /* number of the layer; -1: none */
    double began, inside; /* time when the span began; seconds spent in the spans inside it */
    double flops, bytes;
};

/* Makes the rest of the enclosing block a span. kind_ and name_ are string literals. */
#define TRACE(kind_, name_, number_, flops_, bytes_)                                               \
    struct trace_span trace_span __attribute__((cleanup(trace_leave))) = { .kind = NULL };         \
    if (trace_on)                                                                                  \
    trace_enter(&trace_span, kind_, name_, number_, (double)(flops_), (double)(bytes_))

#define TRACE_KERNEL(flops, bytes) TRACE("kernel", __func__, -1, flops, bytes)
#define TRACE_PHASE(name, number)  TRACE("phase", name, number, 0, 0)

extern _Atomic int
    trace_on; /* 0: off. May be set at any time; it counts what it was when a span began */

void trace_start(int events); /* events 0: only the sums are kept, not the trace */
void trace_stop(void); /* stops tracing and frees all data; spans that end later are ignored */
void trace_enter(struct trace_span *s, const char *kind, const char *name, int64_t number,
                 double flops, double bytes);
void trace_leave(struct trace_span *s);

struct trace_sum {
    const char *name, *kind;
    int64_t count;
    double seconds, own; /* seconds in the spans; `own`: without the spans inside them */
    double flops, bytes;
};
/* Returns the sums by name, the largest own time first, and sets *count. Valid until the next call
 * of a function of this file. */
const struct trace_sum *trace_sums(size_t *count);

/* Writes the trace to a file. `notes` are members of a JSON object ("\"a\": 1") that are added to
 * it. Returns 0, or -1 with an error. */
int trace_write(const char *path, const char *notes);
