/* runtime.c - CUDA's runtime for an emulated device (toolkit/cuda_runtime_api.h), as strict as the
 * documentation allows.
 *
 * Device memory is host memory under other addresses, which cannot be read or written. Each array
 * ends at a page that cannot be accessed, or up to ALIGN - 1 bytes before it; those bytes hold
 * UNTOUCHED, which is checked when the array is freed. New memory holds NaNs. Addresses are not
 * used twice. Queues run late or early (queue.h). A thread uses the device that it has set, which
 * is device 0 before.
 *
 * While a queue is captured, its thread can neither allocate or free memory, nor wait for anything
 * or ask whether it is done, nor copy from memory that is not pinned: the call fails, and so does
 * the capture.
 *
 * TEXTMILL_EMULATED plants a fault, as KIND or KIND:N, where N counts from 1:
 *
 *     driver     there is no driver              lost:N    from its N-th use on, the device fails
 *     none       there is no device              memory:N  from the N-th array on, memory is short
 *     old        the device is too old           pinned:N  the same for the host's pinned memory
 *     capture    no queue can be captured        graph     no graph can be instantiated
 *     plain      cuBLASLt adds no bias, and writes f32 alone
 *     count:FILE no fault: at the end, the numbers of calls are written to FILE
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "tests/emulate/emulate.h"
#include "tests/emulate/queue.h"

enum { ALIGN = 64, UNTOUCHED = 0xa5, POISON = 0xff, DEVICES = 8 };
enum { SHARED_FREE = 48 * 1024, SHARED_MOST = 163 * 1024 /* of sm_80 */ };
static const size_t ROOM = (size_t)1 << 40, MEMORY = (size_t)1 << 30;

struct emulated_work {
    struct emulated_work *next;
    int (*run)(void *work);
    void *work;
    size_t bytes; /* 0: it cannot be captured */
};

struct emulated_graph {
    struct emulated_work *first, **end;
    struct emulated_queue *queue; /* of its last launch, which ends at `count`; NULL: none */
    long count;
};

struct emulated_event {
    struct emulated_queue *queue; /* NULL: it has not been recorded */
    long count;
    int device;
};

/* An array of the device, or of pinned host memory. */
struct array {
    struct array *next;
    char *at;
    size_t bytes;
};

static struct {
    pthread_mutex_t lock;
    char *addresses;    /* of the device; nothing can be read there */
    char *numbers;      /* what they stand for */
    size_t used, taken; /* used: of the addresses; taken: bytes of arrays */
    struct array *arrays, *pinned;
    struct emulated_queue *queues;
    long calls, allocations, pins, launches, copies, waits, products, graphs;
} m = { .lock = PTHREAD_MUTEX_INITIALIZER };

static __thread struct {
    cudaError_t last;
    int device;
    struct emulated_queue *captured; /* by this thread */
} mine;

/* ---- errors ------------------------------------------------------------------------------- */

static int planted(const char *kind, long call)
{
    const char *fault = getenv("TEXTMILL_EMULATED");
    const size_t n = strlen(kind);
    return fault && !strncmp(fault, kind, n) &&
           (!fault[n] || (fault[n] == ':' && call >= atol(fault + n + 1)));
}

/* Begins a call: nothing else uses the device until leave. A lost device fails in each call. */
static cudaError_t enter(void)
{
    pthread_mutex_lock(&m.lock);
    return planted("lost", ++m.calls) ? cudaErrorLaunchFailure : cudaSuccess;
}

/* The same for a call that is not allowed while the thread captures a queue. */
static cudaError_t enter_alone(void)
{
    cudaError_t error = enter();
    if (error || !mine.captured)
        return error;
    mine.captured->captured_wrongly = 1;
    return cudaErrorStreamCaptureUnsupported;
}

static cudaError_t leave(cudaError_t error)
{
    pthread_mutex_unlock(&m.lock);
    if (error != cudaSuccess)
        mine.last = error;
    return error;
}

/* Returns the most shared memory of a block; "narrow" is a GPU of compute capability 8.6 or 8.9. */
static size_t shared_most(void)
{
    return planted("narrow", 1) ? 99 * 1024 : SHARED_MOST;
}

int emulated_planted(const char *kind)
{
    return planted(kind, 1);
}

int emulated_lost(void)
{
    return leave(enter()) != cudaSuccess;
}

void emulated_count_product(void)
{
    m.products++;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = mine.last;
    mine.last = planted("lost", m.calls) ? cudaErrorLaunchFailure : cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorStreamCaptureUnsupported:
        return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated: return "operation failed due to a previous error";
    default: return "another error";
    }
}

__attribute__((destructor)) static void write_counts(void)
{
    const char *fault = getenv("TEXTMILL_EMULATED");
    FILE *to = fault && !strncmp(fault, "count:", 6) ? fopen(fault + 6, "w") : NULL;
    if (!to)
        return;
    fprintf(to,
            "calls=%ld\nlaunches=%ld\nproducts=%ld\ncopies=%ld\nwaits=%ld\nallocations=%ld\n"
            "pinned=%ld\ngraphs=%ld\n",
            m.calls, m.launches, m.products, m.copies, m.waits, m.allocations, m.pins, m.graphs);
    fclose(to);
}

/* ---- devices ------------------------------------------------------------------------------ */

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = DEVICES;
    return planted("driver", 1) ? cudaErrorInsufficientDriver
           : planted("none", 1) ? cudaErrorNoDevice
                                : leave(enter());
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int number)
{
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "CUDA kernels emulated on the CPU");
    p->uuid.bytes[15] = (char)number;
    p->major = planted("old", 1) ? 7 : 9;
    p->sharedMemPerBlockOptin = shared_most();
    return leave(enter());
}

cudaError_t cudaSetDevice(int number)
{
    mine.device = number;
    return number < 0 || number >= DEVICES ? cudaErrorInvalidDevice : leave(enter());
}

cudaError_t cudaMemGetInfo(size_t *rest, size_t *all)
{
    cudaError_t error = enter();
    *rest = MEMORY - m.taken;
    *all = MEMORY;
    return leave(error);
}

/* ---- queues ------------------------------------------------------------------------------- */

/* Goes on with the queue until `until` pieces of work are done, as far as it can. Returns 1 if they
 * are done. */
static int run_queue(struct emulated_queue *q, long until)
{
    while (q->done < until && q->first->run(q->first->work)) {
        struct emulated_work *done = q->first;
        q->first = done->next;
        if (!q->first)
            q->end = &q->first;
        free(done);
        q->done++;
    }
    return q->done >= until;
}

static void await(struct emulated_queue *q, long until)
{
    while (!run_queue(q, until)) { /* it waits for another process */
        pthread_mutex_unlock(&m.lock);
        sched_yield();
        pthread_mutex_lock(&m.lock);
    }
}

static void await_all(void)
{
    for (struct emulated_queue *q = m.queues; q; q = q->next)
        await(q, q->added);
}

static struct emulated_work *new_work(int (*run)(void *work), void *work, size_t bytes)
{
    struct emulated_work *w = mem_alloc(sizeof *w);
    *w = (struct emulated_work){ NULL, run, work, bytes };
    return w;
}

static void capture(struct emulated_graph *g, int (*run)(void *work), void *work, size_t bytes)
{
    *g->end = new_work(run, work, bytes);
    g->end = &(*g->end)->next;
}

static void add(struct emulated_queue *q, int (*run)(void *work), void *work, size_t bytes)
{
    if (q->captured) {
        q->captured_wrongly |= !bytes;
        capture(q->captured, run, work, bytes);
        return;
    }
    struct emulated_work *w = new_work(run, work, bytes);
    *q->end = w;
    q->end = &w->next;
    q->added++;
    if (q->early)
        run_queue(q, q->added);
}

static void add_locked(struct emulated_queue *q, int (*run)(void *work), void *work, size_t bytes)
{
    pthread_mutex_lock(&m.lock);
    add(q, run, work, bytes);
    pthread_mutex_unlock(&m.lock);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
    cudaError_t error = enter();
    struct emulated_queue *q = mem_zalloc(1, sizeof *q), **last = &m.queues;
    const int first = !m.queues, order = mine.device % 3;
    *q = (struct emulated_queue){ .add = add_locked, .memory = device_memory };
    q->device = mine.device;
    q->early = order == 1 ? !first : order == 2 ? first : 0;
    q->end = &q->first;
    while (*last)
        last = &(*last)->next;
    *s = *last = q;
    return leave(flags == cudaStreamNonBlocking ? error : cudaErrorInvalidValue);
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    cudaError_t error = enter();
    struct emulated_queue **at = &m.queues;
    await_all();
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    free(s);
    return leave(error);
}

/* Begins a call that adds to a queue, which must belong to the thread's device. */
static cudaError_t enter_queue(const struct emulated_queue *s)
{
    cudaError_t error = enter();
    return error                      ? error
           : s->device != mine.device ? cudaErrorInvalidResourceHandle
           : s->captured_wrongly      ? cudaErrorStreamCaptureInvalidated
                                      : cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    cudaError_t error = enter_alone();
    m.waits++;
    if (!error)
        await(s, s->added);
    return leave(error);
}

/* ---- graphs ------------------------------------------------------------------------------- */

static void free_graph(struct emulated_graph *g)
{
    while (g->first) {
        struct emulated_work *w = g->first;
        g->first = w->next;
        free(w->work);
        free(w);
    }
    free(g);
}

static struct emulated_graph *new_graph(void)
{
    struct emulated_graph *g = mem_zalloc(1, sizeof *g);
    g->end = &g->first;
    return g;
}

static void *copy_of(const struct emulated_work *w)
{
    return memcpy(mem_alloc(w->bytes), w->work, w->bytes);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
    cudaError_t error = enter_queue(s);
    if (!error && planted("capture", 1))
        error = cudaErrorStreamCaptureUnsupported;
    if (!error && (mode != cudaStreamCaptureModeThreadLocal || s->captured || mine.captured))
        error = cudaErrorInvalidValue;
    if (!error) {
        s->captured = new_graph();
        mine.captured = s;
    }
    return leave(error);
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph)
{
    cudaError_t error = enter();
    *graph = NULL;
    if (!s->captured || mine.captured != s)
        return leave(cudaErrorInvalidValue);
    if (!error && s->captured_wrongly)
        error = cudaErrorStreamCaptureInvalidated;
    if (error)
        free_graph(s->captured);
    else
        *graph = s->captured;
    s->captured = NULL;
    mine.captured = NULL;
    s->captured_wrongly = 0;
    return leave(error);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *to, cudaGraph_t graph, unsigned long long flags)
{
    cudaError_t error = enter_alone();
    if (!error && flags)
        error = cudaErrorInvalidValue;
    if (!error && planted("graph", 1))
        error = cudaErrorMemoryAllocation;
    if (error)
        return leave(error);
    *to = new_graph();
    for (const struct emulated_work *w = graph->first; w; w = w->next)
        capture(*to, w->run, copy_of(w), w->bytes);
    return leave(error);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t s)
{
    cudaError_t error = enter_queue(s);
    if (!error && s->captured)
        error = cudaErrorStreamCaptureUnsupported;
    m.graphs++;
    for (const struct emulated_work *w = graph->first; w && !error; w = w->next)
        add(s, w->run, copy_of(w), w->bytes);
    graph->queue = s;
    graph->count = s->added;
    return leave(error);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    free_graph(graph);
    return leave(enter());
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    if (graph->queue && graph->queue->done < graph->count)
        log_fatal("a graph is dropped before its last run is done");
    free_graph(graph);
    return leave(enter_alone());
}

/* ---- events ------------------------------------------------------------------------------- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
    cudaError_t error = enter();
    (void)flags;
    *e = mem_alloc(sizeof **e);
    **e = (struct emulated_event){ .device = mine.device };
    return leave(error);
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    free(e);
    return leave(enter());
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    cudaError_t error = s->captured ? enter_alone() : enter_queue(s);
    if (!error && e->device != s->device)
        error = cudaErrorInvalidResourceHandle;
    e->queue = s;
    e->count = s->added;
    return leave(error);
}

cudaError_t cudaEventQuery(cudaEvent_t e)
{
    cudaError_t error = enter_alone();
    if (!error && e->queue && !run_queue(e->queue, e->count))
        error = cudaErrorNotReady;
    return leave(error);
}

static int run_wait(void *event)
{
    struct emulated_event *e = event;
    int reached = run_queue(e->queue, e->count);
    if (reached)
        free(e);
    return reached;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
    cudaError_t error = enter();
    (void)flags;
    if (!error && s->captured) { /* the event is not of the capture */
        s->captured_wrongly = 1;
        error = cudaErrorStreamCaptureIsolation;
    }
    if (!error && e->queue && e->queue != s)
        add(s, run_wait, memcpy(mem_alloc(sizeof *e), e, sizeof *e), 0);
    return leave(error);
}

/* ---- memory ------------------------------------------------------------------------------- */

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + page_size() - 1) / page_size() * page_size();
}

static char *reserve(size_t bytes)
{
    char *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        log_fatal("cannot reserve the emulated device's addresses");
    return p;
}

static int is_device(const char *address)
{
    return address >= m.addresses && address < m.addresses + m.used;
}

/* Removes the array at an address from the list and returns it, or NULL if there is none. */
static struct array *take_out(struct array **list, const char *at)
{
    struct array *found;
    while (*list && (*list)->at != at)
        list = &(*list)->next;
    found = *list;
    if (found)
        *list = found->next;
    return found;
}

static void put_in(struct array **list, char *at, size_t bytes)
{
    struct array *a = mem_alloc(sizeof *a);
    *a = (struct array){ *list, at, bytes };
    *list = a;
}

static const struct array *pinned_with(const char *address)
{
    const struct array *a = m.pinned;
    while (a && (address < a->at || address >= a->at + a->bytes))
        a = a->next;
    return a;
}

/* Returns the host address of what an address of the host or of the device stands for. */
static char *host_of(const void *address)
{
    const char *at = address;
    return is_device(at) ? m.numbers + (at - m.addresses) : (char *)(uintptr_t)at;
}

char *device_memory(char *address)
{
    pthread_mutex_lock(&m.lock);
    if (!is_device(address) && !pinned_with(address))
        log_fatal("a kernel was given an address of the host");
    pthread_mutex_unlock(&m.lock);
    return host_of(address);
}

cudaError_t cudaMalloc(void **at, size_t bytes)
{
    cudaError_t error = enter_alone();
    const size_t size = whole_pages(bytes), slack = rounded(bytes) - bytes;
    char *numbers;
    if (!error && (planted("memory", ++m.allocations) || m.taken + bytes > MEMORY))
        error = cudaErrorMemoryAllocation;
    if (!error && m.queues && m.queues->device != mine.device)
        error = cudaErrorInvalidDevice;
    if (error)
        return leave(error);
    if (!m.addresses) {
        m.addresses = reserve(ROOM);
        m.numbers = reserve(ROOM);
    }
    numbers = m.numbers + m.used;
    if (m.used + size + page_size() > ROOM || mprotect(numbers, size, PROT_READ | PROT_WRITE) < 0)
        log_fatal("out of memory");
    *at = m.addresses + m.used + size - rounded(bytes);
    memset(numbers, POISON, size);
    memset(numbers + size - slack, UNTOUCHED, slack);
    put_in(&m.arrays, *at, bytes);
    m.used += size + page_size();
    m.taken += bytes;
    return leave(cudaSuccess);
}

/* Waits for all work, as the documentation says. */
cudaError_t cudaFree(void *at)
{
    cudaError_t error = enter_alone();
    if (error)
        return leave(error);
    m.waits++;
    await_all();
    struct array *a = take_out(&m.arrays, at);
    if (!a)
        return leave(cudaErrorInvalidValue);
    const size_t size = whole_pages(a->bytes);
    char *numbers = host_of(a->at);
    for (size_t i = a->bytes; i < rounded(a->bytes); i++)
        if ((unsigned char)numbers[i] != UNTOUCHED)
            log_fatal("a kernel wrote behind an array of %zu bytes", a->bytes);
    mmap(numbers + rounded(a->bytes) - size, size, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    m.taken -= a->bytes;
    free(a);
    return leave(cudaSuccess);
}

cudaError_t cudaHostAlloc(void **at, size_t bytes, unsigned flags)
{
    cudaError_t error = enter_alone();
    (void)flags;
    if (!error && planted("pinned", ++m.pins))
        error = cudaErrorMemoryAllocation;
    if (error)
        return leave(error);
    *at = mem_alloc(bytes);
    memset(*at, POISON, bytes);
    put_in(&m.pinned, *at, bytes);
    return leave(cudaSuccess);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *at)
{
    cudaError_t error = enter();
    a->type = is_device(at)     ? cudaMemoryTypeDevice
              : pinned_with(at) ? cudaMemoryTypeHost
                                : cudaMemoryTypeUnregistered;
    return leave(error);
}

/* ---- copies ------------------------------------------------------------------------------- */

/* A copy or, if from is NULL, the setting of bytes to `value`. */
struct copy {
    char *to;
    const char *from;
    size_t bytes;
    int value;
};

static int run_copy(void *work)
{
    struct copy *c = work;
    if (c->from)
        memcpy(c->to, c->from, c->bytes);
    else
        memset(c->to, c->value, c->bytes);
    free(c);
    return 1;
}

cudaError_t cudaFreeHost(void *at)
{
    cudaError_t error = enter_alone();
    struct array *a = error ? NULL : take_out(&m.pinned, at);
    if (!a)
        return leave(error ? error : cudaErrorInvalidValue);
    for (struct emulated_queue *q = m.queues; q; q = q->next)
        for (struct emulated_work *w = q->first; w; w = w->next) {
            const struct copy *c = w->run == run_copy ? w->work : NULL;
            if (c && ((c->from >= a->at && c->from < a->at + a->bytes) ||
                      (c->to >= a->at && c->to < a->at + a->bytes)))
                log_fatal("pinned memory is freed before a copy of it is done");
        }
    free(a->at);
    free(a);
    return leave(error);
}

cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t s)
{
    cudaError_t error = enter_queue(s);
    m.copies++;
    if (!error && !is_device(at) && !pinned_with(at))
        error = cudaErrorInvalidValue;
    if (!error) {
        struct copy *c = mem_alloc(sizeof *c);
        *c = (struct copy){ host_of(at), NULL, bytes, value };
        add(s, run_copy, c, sizeof *c);
    }
    return leave(error);
}

/* Memory that is not pinned may be read before the call returns or later; here it is read late. It
 * is written before the call returns. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t s)
{
    cudaError_t error = enter_queue(s);
    const int from_pageable = !is_device(from) && !pinned_with(from);
    const int to_pageable = !is_device(to) && !pinned_with(to);
    m.copies++;
    if (!error && (kind != cudaMemcpyDefault || (from_pageable && to_pageable)))
        error = cudaErrorInvalidValue;
    if (!error && s->captured && (from_pageable || to_pageable)) {
        s->captured_wrongly = 1;
        error = cudaErrorStreamCaptureUnsupported;
    }
    if (error)
        return leave(error);
    struct copy *c = mem_alloc(sizeof *c);
    *c = (struct copy){ host_of(to), host_of(from), bytes, 0 };
    add(s, run_copy, c, sizeof *c);
    if (to_pageable)
        await(s, s->added);
    return leave(cudaSuccess);
}

/* ---- kernels ------------------------------------------------------------------------------ */

struct launch {
    const struct emulated_kernel *kernel;
    int64_t x, y;
    int threads, order;
    size_t shared;
    char arguments[] __attribute__((aligned(16)));
};

static int run_launch(void *work)
{
    struct launch *l = work;
    emulated_run(l->kernel, l->arguments, l->x, l->y, l->threads, l->shared, l->order);
    free(l);
    return 1;
}

void emulated_allow(struct emulated_kernel *k, size_t shared)
{
    if (shared > shared_most())
        mine.last = cudaErrorInvalidValue;
    else
        k->shared = shared;
}

void emulated_launch(cudaStream_t s, struct emulated_kernel *k, const void *arguments, size_t bytes,
                     int64_t x, int64_t y, int64_t threads, size_t shared)
{
    cudaError_t error = enter_queue(s);
    const size_t most = k->shared > SHARED_FREE ? k->shared : SHARED_FREE;
    m.launches++;
    if (!error && (threads < 1 || threads > k->most || threads > EMULATED_THREADS || x < 1 ||
                   x > INT32_MAX || y < 1 || y > GRID_ROWS))
        error = cudaErrorInvalidConfiguration;
    if (!error && shared > most)
        error = cudaErrorInvalidValue;
    if (!error) {
        struct launch *l = mem_alloc(sizeof *l + bytes);
        *l = (struct launch){ k, x, y, (int)threads, s->device % 3, shared };
        memcpy(l->arguments, arguments, bytes);
        add(s, run_launch, l, sizeof *l + bytes);
    }
    leave(error);
}
