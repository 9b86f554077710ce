/*
 * trace.h - where the time goes: named spans of work, summed by name and kept as a trace.
 *
 * While tracing is off, which it is until trace_start, a span costs one test. Spans of a thread
 * nest; what a span costs itself is its time without that of the spans inside. Arithmetic and
 * bytes are the algorithm's: each number read or written once, whatever caches do.
 *
 * The file is JSON in the Trace Event Format ("X" events, microseconds), which chrome://tracing
 * and ui.perfetto.dev open. Only the first million spans are kept; the sums have all.
 */
#ifndef TEXTMILL_COMMON_TRACE_H
#define TEXTMILL_COMMON_TRACE_H

#include <stddef.h>
#include <stdint.h>

struct trace_span {
    struct trace_span *outer;
    const char *name, *kind; /* kind: "kernel", "phase", "disk"; NULL: tracing was off */
    int64_t number;          /* of a layer; -1: none */
    double began, inside;    /* inside: seconds of the spans in it */
    double flops, bytes;
};

/* From here to the end of the block is a span; kind_ and name_ are string literals. */
#define TRACE(kind_, name_, number_, flops_, bytes_)                                               \
    struct trace_span trace_span __attribute__((cleanup(trace_leave))) = { .kind = NULL };         \
    if (trace_on)                                                                                  \
    trace_enter(&trace_span, kind_, name_, number_, (double)(flops_), (double)(bytes_))

#define TRACE_KERNEL(flops, bytes) TRACE("kernel", __func__, -1, flops, bytes)
#define TRACE_PHASE(name, number)  TRACE("phase", name, number, 0, 0)

extern int trace_on; /* set before threads start */

void trace_start(void);
void trace_stop(void); /* spans that end later are not seen; frees all */
void trace_enter(struct trace_span *s, const char *kind, const char *name, int64_t number,
                 double flops, double bytes);
void trace_leave(struct trace_span *s);

struct trace_sum {
    const char *name, *kind;
    int64_t count;
    double seconds, own; /* own: without the spans inside */
    double flops, bytes;
};
/* By name, the longest of their own first; *count is set; valid until the next call of this file's.
 */
const struct trace_sum *trace_sums(size_t *count);

/* Writes the trace; `notes`, the members of a JSON object ("\"a\": 1"), go with it. */
int trace_write(const char *path, const char *notes);

#endif
