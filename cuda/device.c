/* device.c - a GPU's memory, copies and stream, by the CUDA runtime. */
#include <cuda_runtime_api.h>

#include "common/base/log.h"
#include "cuda/cuda.h"

enum { LEAST_BORROWED = 64 * 1024, LEAST_CAPABILITY = 80 };

/* Pinned host memory, which the device can read directly. */
struct pinned {
    struct pinned *next;
    void *at;
    size_t bytes;
    cudaEvent_t sent; /* reached when the last copy from this memory is done */
    int out;          /* 1: lent to the caller */
};

struct device {
    cudaStream_t stream; /* the selected queue; the first member: LAUNCH reads it from here */
    cudaStream_t queue[OPS_QUEUES];
    cudaStream_t fresh; /* new memory is zeroed in this one */
    int number;
    size_t shared; /* most bytes of shared memory of a block */
    int recording; /* 1: the work of queue OPS_COMPUTE is recorded */
    struct pinned *pinned;
};

/* ---- errors ------------------------------------------------------------------------------- */

static int failed(const char *what, cudaError_t error)
{
    return err_set("cannot use the GPU: %s: %s", what, cudaGetErrorString(error));
}

static void check(const char *what, cudaError_t error)
{
    if (error != cudaSuccess)
        log_fatal("the GPU failed: %s: %s", what, cudaGetErrorString(error));
}

/* Returns 1 if the work before the event is done, else 0. The runtime remembers "not ready" like an
 * error, and would report it after the next launch, so this clears it. */
static int is_reached(const char *what, cudaEvent_t event)
{
    cudaError_t error = cudaEventQuery(event);
    if (error == cudaErrorNotReady)
        cudaGetLastError();
    else
        check(what, error);
    return error == cudaSuccess;
}

/* ---- life cycle --------------------------------------------------------------------------- */

int device_count(void)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaErrorInsufficientDriver)
        return err_set("cannot use the GPU: NVIDIA's driver is not installed or older than CUDA %d",
                       CUDART_VERSION / 1000);
    if (error == cudaErrorNoDevice || (!error && !count))
        return err_set("cannot use the GPU: this machine has none, or none for this process");
    if (error != cudaSuccess)
        return failed("counting devices", error);
    return count;
}

int device_open(struct ops *o, int number)
{
    struct cudaDeviceProp p;
    cudaError_t error = cudaGetDeviceProperties(&p, number);
    if (error == cudaSuccess)
        error = cudaSetDevice(number);
    if (error != cudaSuccess)
        return failed("opening the device", error);
    if (10 * p.major + p.minor < LEAST_CAPABILITY)
        return err_set("cannot use the GPU '%s': its compute capability is %d.%d, %d.%d is needed",
                       p.name, p.major, p.minor, LEAST_CAPABILITY / 10, LEAST_CAPABILITY % 10);
    struct device *d = o->device = mem_zalloc(1, sizeof *d);
    d->number = number;
    d->shared = p.sharedMemPerBlockOptin;
    snprintf(o->name, sizeof o->name, "%.60s", p.name); /* names its arithmetic, too */
    for (int q = 0; q < OPS_QUEUES && error == cudaSuccess; q++)
        error = cudaStreamCreateWithFlags(&d->queue[q], cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&d->fresh, cudaStreamNonBlocking);
    d->stream = d->queue[OPS_COMPUTE];
    if (error == cudaSuccess)
        return 0;
    free(d);
    return failed("making a stream", error);
}

void device_close(struct ops *o)
{
    struct device *d = o->device;
    device_finish(o);
    while (d->pinned) {
        struct pinned *p = d->pinned;
        d->pinned = p->next;
        cudaEventDestroy(p->sent);
        cudaFreeHost(p->at);
        free(p);
    }
    for (int q = 0; q < OPS_QUEUES; q++)
        cudaStreamDestroy(d->queue[q]);
    cudaStreamDestroy(d->fresh);
    free(d);
}

size_t device_shared(const struct ops *o)
{
    return ((const struct device *)o->device)->shared;
}

void *device_stream(const struct ops *o)
{
    return ((const struct device *)o->device)->stream;
}

/* ---- recordings --------------------------------------------------------------------------- */

static cudaError_t end_recording(struct device *d, cudaGraph_t *graph)
{
    d->recording = 0;
    *graph = NULL;
    return cudaStreamEndCapture(d->queue[OPS_COMPUTE], graph);
}

/* Clears errors of calls that a recording does not allow. Other errors are reported again later. */
int device_unrecord(struct ops *o)
{
    struct device *d = o->device;
    cudaGraph_t graph;
    if (!d->recording)
        return 0;
    end_recording(d, &graph);
    if (graph)
        cudaGraphDestroy(graph);
    cudaGetLastError();
    return 1;
}

int device_record(struct ops *o, void (*step)(void *context), void *context, void **recording)
{
    struct device *d = o->device;
    cudaGraph_t graph;
    cudaGraphExec_t made = NULL;
    cudaError_t error = cudaStreamBeginCapture(d->queue[OPS_COMPUTE],
                                               cudaStreamCaptureModeThreadLocal);
    *recording = NULL;
    d->recording = error == cudaSuccess;
    if (d->recording) {
        step(context);
        if (!d->recording)
            return 0;
        error = end_recording(d, &graph);
        if (error == cudaSuccess)
            error = cudaGraphInstantiate(&made, graph, 0);
        if (graph)
            cudaGraphDestroy(graph);
    }
    *recording = made;
    if (error == cudaSuccess)
        return 0;
    cudaGetLastError();
    return failed("recording a step", error);
}

void device_repeat(struct ops *o, void *recording)
{
    const struct device *d = o->device;
    check("a recorded step", cudaGraphLaunch(recording, d->queue[OPS_COMPUTE]));
}

/* Waits, because the recording may be running. */
void device_forget(struct ops *o, void *recording)
{
    const struct device *d = o->device;
    check("a recorded step", cudaStreamSynchronize(d->queue[OPS_COMPUTE]));
    check("dropping a recorded step", cudaGraphExecDestroy(recording));
}

/* ---- memory ------------------------------------------------------------------------------- */

uint64_t device_free_bytes(const struct ops *)
{
    size_t rest = 0, all = 0;
    check("asking for free memory", cudaMemGetInfo(&rest, &all));
    return rest;
}

/* Waits until the memory is zeroed, because any queue may be the first to use it. */
char *device_alloc(struct ops *o, size_t bytes)
{
    const struct device *d = o->device;
    void *at = NULL;
    size_t rest = 0, all = 0;
    char text[3][32];
    device_unrecord(o);
    cudaError_t error = cudaMalloc(&at, bytes ? bytes : 1);
    if (error == cudaErrorMemoryAllocation) {
        cudaMemGetInfo(&rest, &all);
        log_fatal("out of GPU memory: %s wanted, %s of %s free", log_bytes(text[0], bytes),
                  log_bytes(text[1], rest), log_bytes(text[2], all));
    }
    check("taking memory", error);
    check("zeroing memory", cudaMemsetAsync(at, 0, bytes, d->fresh));
    check("zeroing memory", cudaStreamSynchronize(d->fresh));
    return at;
}

/* cudaFree waits for all work. */
void device_free(struct ops *o, char *address)
{
    device_unrecord(o);
    check("giving memory back",
          device_is_host(o, address) ? cudaFreeHost(address) : cudaFree(address));
}

void cuda_zero(struct ops *o, struct ops_array x, int64_t n)
{
    check("zeroing memory", cudaMemsetAsync(x.address, 0, cuda_bytes(x.type, n), device_stream(o)));
}

static void begin_upload(struct ops *o, char *to, const void *from, size_t bytes)
{
    device_unrecord(o);
    check("a copy to the GPU",
          cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, device_stream(o)));
}

/* Waits, because the runtime may return before it has read `from`, even if that is not pinned. */
void device_upload(struct ops *o, struct ops_array to, const void *from, int64_t n)
{
    begin_upload(o, to.address, from, cuda_bytes(to.type, n));
    check("a copy to the GPU", cudaStreamSynchronize(device_stream(o)));
}

void device_download(struct ops *o, void *to, struct ops_array from, int64_t n)
{
    device_unrecord(o);
    check("a copy from the GPU", cudaMemcpyAsync(to, from.address, cuda_bytes(from.type, n),
                                                 cudaMemcpyDefault, device_stream(o)));
    check("the work so far", cudaStreamSynchronize(device_stream(o)));
}

/* ---- host buffers, and copies that overlap with computation ------------------------------ */

struct ops_array device_host_buffer(struct ops *o, int64_t n)
{
    const size_t bytes = (size_t)n;
    void *at = NULL;
    char text[32];
    device_unrecord(o);
    const cudaError_t error = cudaHostAlloc(&at, bytes ? bytes : 1, cudaHostAllocDefault);
    if (error == cudaErrorMemoryAllocation)
        log_fatal("out of memory: %s that the GPU can copy from", log_bytes(text, bytes));
    check("taking host memory", error);
    memset(at, 0, bytes);
    return (struct ops_array){ at, OPS_U8 };
}

int device_is_host(const struct ops *, const char *address)
{
    struct cudaPointerAttributes a;
    check("asking what an address is", cudaPointerGetAttributes(&a, address));
    return a.type == cudaMemoryTypeHost;
}

static cudaStream_t queue_of(const struct ops *o, enum ops_queue q)
{
    return ((const struct device *)o->device)->queue[q];
}

void device_mark(struct ops *o, enum ops_queue q, struct ops_mark *m)
{
    cudaEvent_t event = m->event;
    device_unrecord(o);
    if (!event)
        check("an event", cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    m->event = event;
    check("an event", cudaEventRecord(event, queue_of(o, q)));
}

void device_mark_free(struct ops *, struct ops_mark *m)
{
    check("an event", cudaEventDestroy(m->event));
}

void device_after(struct ops *o, enum ops_queue q, const struct ops_mark *m)
{
    device_unrecord(o);
    check("an event", cudaStreamWaitEvent(queue_of(o, q), m->event, 0));
}

/* Sets the current device first: each thread has its own, which is number 0 until it is set. */
int device_reached(struct ops *o, const struct ops_mark *m)
{
    check("choosing the device", cudaSetDevice(((struct device *)o->device)->number));
    return is_reached("a copy or an exchange", m->event);
}

void device_move(struct ops *o, enum ops_queue q, struct ops_array to, struct ops_array from,
                 int64_t n)
{
    device_unrecord(o);
    check("a copy",
          cudaMemcpyAsync(to.address, from.address, (size_t)n, cudaMemcpyDefault, queue_of(o, q)));
}

void device_finish(struct ops *o)
{
    device_unrecord(o);
    for (int q = 0; q < OPS_QUEUES; q++)
        check("the work so far", cudaStreamSynchronize(queue_of(o, q)));
}

static struct pinned *new_pinned(struct ops *o, size_t bytes)
{
    struct device *d = o->device;
    struct pinned *p = mem_zalloc(1, sizeof *p);
    p->bytes = (bytes / LEAST_BORROWED + 1) * LEAST_BORROWED;
    p->at = device_host_buffer(o, (int64_t)p->bytes).address;
    check("an event", cudaEventCreateWithFlags(&p->sent, cudaEventDisableTiming));
    p->next = d->pinned;
    return d->pinned = p;
}

void *device_borrow(struct ops *o, size_t bytes)
{
    struct device *d = o->device;
    struct pinned *p = d->pinned;
    device_unrecord(o);
    while (p && (p->out || p->bytes < bytes || p->bytes > 4 * (bytes + LEAST_BORROWED) ||
                 !is_reached("a copy to the GPU", p->sent)))
        p = p->next;
    if (!p)
        p = new_pinned(o, bytes);
    p->out = 1;
    return p->at;
}

static struct pinned *take_back(struct ops *o, const void *borrowed)
{
    struct pinned *p = ((struct device *)o->device)->pinned;
    while (p->at != borrowed)
        p = p->next;
    p->out = 0;
    return p;
}

void device_return(struct ops *o, void *borrowed)
{
    take_back(o, borrowed);
}

void device_send(struct ops *o, char *to, void *borrowed, size_t bytes)
{
    begin_upload(o, to, borrowed, bytes);
    check("an event", cudaEventRecord(take_back(o, borrowed)->sent, device_stream(o)));
}

void device_launched(struct ops *o, const char *kernel)
{
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess || !device_unrecord(o))
        check(kernel, error);
}

void device_select(struct ops *o, enum ops_queue q)
{
    struct device *d = o->device;
    d->stream = d->queue[q];
}

void device_identify(const struct ops *o, char name[OPS_DEVICE_NAME])
{
    struct cudaDeviceProp p;
    const int number = ((const struct device *)o->device)->number;
    check("asking for the device's name", cudaGetDeviceProperties(&p, number));
    for (size_t i = 0; i < sizeof p.uuid.bytes; i++)
        snprintf(name + 2 * i, 3, "%02x", (unsigned char)p.uuid.bytes[i]);
}
