/* device.c - the memory of an emulated device: host memory under other addresses. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/err.h"
#include "common/log.h"
#include "common/mem.h"
#include "tests/emulate/emulate.h"
#include "tests/emulate/stream.h"

/* Each array ends at a page that cannot be accessed, or up to ALIGN - 1 bytes before it; those
 * bytes hold UNTOUCHED, which is checked when the array is freed. Addresses are not used twice. */
enum { ALIGN = 64, UNTOUCHED = 0xa5 };
static const size_t ROOM = (size_t)1 << 40;

enum { HOST_BUFFERS = 4096, QUEUE = 1 << 16, DEVICES = 8, ORDERS = 3 };

/* A move that has not happened yet. Moves happen as late as possible: when something waits for
 * them. */
struct move {
    char *to;
    const char *from;
    size_t bytes;
    int queue; /* to = NULL: waits until this one has done so many */
    long count;
};

struct queue {
    struct move moves[QUEUE];
    long added, done;
};

struct mark {
    int queue;
    long count;
};

struct exchange {
    struct exchange *next;
    int (*run)(void *work);
    void *work;
};

/* The queue of exchanges, which several threads run. */
struct comm {
    struct emulated_stream stream; /* must be the first member */
    pthread_mutex_t lock;
    struct exchange *first, **end;
    long added, done;
};

struct device {
    struct {
        char *at;
        size_t bytes;
    } host[HOST_BUFFERS];
    int host_count;
    struct queue queues[3];
    struct comm comm;
    enum ops_queue selected;
    int number;
    char *addresses; /* of the device; nothing can be read there */
    char *numbers;   /* what they stand for */
    size_t used;
};

static struct device *open_device; /* one at a time: kernels' addresses say no more */

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
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

char *device_memory(char *address)
{
    const struct device *d = open_device;
    if (d->host_count && device_is_host(NULL, address))
        return address;
    if (address < d->addresses || address >= d->addresses + d->used)
        log_fatal("a kernel was given an address of the host");
    return address - d->addresses + d->numbers;
}

int emulated_order(const struct ops *o)
{
    return ((struct device *)o->device)->number % ORDERS;
}

int device_count(void)
{
    return DEVICES;
}

/* ---- the queue of exchanges --------------------------------------------------------------- */

static void add_exchange(struct emulated_stream *s, int (*run)(void *work), void *work)
{
    struct comm *c = (struct comm *)(void *)s;
    struct exchange *x = mem_alloc(sizeof *x);
    *x = (struct exchange){ NULL, run, work };
    pthread_mutex_lock(&c->lock);
    *c->end = x;
    c->end = &x->next;
    c->added++;
    pthread_mutex_unlock(&c->lock);
}

/* Goes on with the queue as far as it can. Returns 1 if `until` exchanges are done, else 0. */
static int run_exchanges(struct comm *c, long until)
{
    pthread_mutex_lock(&c->lock);
    while (c->done < until && c->first->run(c->first->work)) {
        struct exchange *done = c->first;
        c->first = done->next;
        if (!c->first)
            c->end = &c->first;
        free(done);
        c->done++;
    }
    int reached = c->done >= until;
    pthread_mutex_unlock(&c->lock);
    return reached;
}

static void await_exchanges(struct comm *c, long until)
{
    while (!run_exchanges(c, until))
        sched_yield();
}

static void open_comm(struct comm *c)
{
    *c = (struct comm){ .stream = { add_exchange, device_memory } };
    c->end = &c->first;
    pthread_mutex_init(&c->lock, NULL);
}

struct emulated_stream *emulated_selected(const struct ops *o)
{
    struct device *d = o->device;
    return d->selected == OPS_COMM ? &d->comm.stream : NULL;
}

void device_select(struct ops *o, enum ops_queue q)
{
    ((struct device *)o->device)->selected = q;
}

void *device_stream(const struct ops *o)
{
    return emulated_selected(o);
}

const char device_group_library[] = "libtextmill-nccl.so";

void device_identify(const struct ops *o, char name[OPS_DEVICE_NAME])
{
    snprintf(name, OPS_DEVICE_NAME, "emulated:%d", ((const struct device *)o->device)->number);
}

/* ---- life cycle --------------------------------------------------------------------------- */

int device_open(struct ops *o, int number)
{
    if (open_device)
        return err_set("only one emulated device can be open");
    struct device *d = open_device = o->device = mem_zalloc(1, sizeof *d);
    d->number = number;
    open_comm(&d->comm);
    d->addresses = reserve(ROOM);
    d->numbers = reserve(ROOM);
    snprintf(o->name, sizeof o->name, "CUDA kernels emulated on the CPU");
    return 0;
}

void device_close(struct ops *o)
{
    struct device *d = o->device;
    device_finish(o);
    pthread_mutex_destroy(&d->comm.lock);
    munmap(d->addresses, ROOM);
    munmap(d->numbers, ROOM);
    free(d);
    open_device = NULL;
}

/* Returns a limit of 1 GiB, so that tests can see a training refused that needs more. */
uint64_t device_free_bytes(const struct ops *o)
{
    (void)o;
    return (uint64_t)1 << 30;
}

char *device_alloc(struct ops *o, size_t bytes)
{
    struct device *d = o->device;
    size_t size = whole_pages(bytes ? bytes : 1), rounded = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    char *at = d->addresses + d->used;
    if (d->used + size + page_size() > ROOM ||
        mprotect(d->numbers + d->used, size, PROT_READ | PROT_WRITE) < 0)
        log_fatal("out of memory");
    d->used += size + page_size();
    memset(d->numbers + (at - d->addresses) + size - (rounded - bytes), UNTOUCHED, rounded - bytes);
    return at + size - rounded;
}

void device_free(struct ops *o, char *address, size_t bytes)
{
    struct device *d = o->device;
    size_t size = whole_pages(bytes ? bytes : 1), rounded = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    await_exchanges(&d->comm, d->comm.added); /* as cudaFree does */
    char *at = device_memory(address) + rounded - size;
    assert((size_t)(at - d->numbers) % page_size() == 0);
    for (size_t i = bytes; i < rounded; i++)
        if ((unsigned char)device_memory(address)[i] != UNTOUCHED)
            log_fatal("a kernel wrote behind an array of %zu bytes", bytes);
    mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void device_zero(struct ops *o, char *address, size_t bytes)
{
    (void)o;
    memset(device_memory(address), 0, bytes);
}

void device_upload(struct ops *o, char *to, const void *from, size_t bytes)
{
    (void)o;
    if (bytes)
        memcpy(device_memory(to), from, bytes);
}

void device_download(struct ops *o, void *to, const char *from, size_t bytes)
{
    (void)o;
    if (bytes)
        memcpy(to, device_memory((char *)(uintptr_t)from), bytes);
}

/* ---- the host's buffers, and moves beside the arithmetic ---------------------------------- */

char *device_host_alloc(struct ops *o, size_t bytes)
{
    struct device *d = o->device;
    assert(d->host_count < HOST_BUFFERS);
    d->host[d->host_count].bytes = bytes;
    return d->host[d->host_count++].at = mem_zalloc(bytes, 1);
}

void device_host_free(struct ops *o, char *address, size_t bytes)
{
    struct device *d = o->device;
    (void)bytes;
    for (int i = 0; i < d->host_count; i++)
        if (d->host[i].at == address)
            d->host[i--] = d->host[--d->host_count];
    free(address);
}

int device_is_host(const struct ops *o, const char *address)
{
    const struct device *d = open_device;
    (void)o;
    for (int i = 0; i < d->host_count; i++)
        if (address >= d->host[i].at && address < d->host[i].at + d->host[i].bytes)
            return 1;
    return 0;
}

static void run_queue(struct device *d, int queue, long until)
{
    struct queue *q = &d->queues[queue];
    while (q->done < until) {
        const struct move m = q->moves[q->done++ % QUEUE];
        if (m.to)
            memcpy(device_memory(m.to), device_memory((char *)(uintptr_t)m.from), m.bytes);
        else
            run_queue(d, m.queue, m.count);
    }
}

static void add_move(struct device *d, int queue, struct move m)
{
    struct queue *q = &d->queues[queue];
    assert(q->added - q->done < QUEUE);
    q->moves[q->added++ % QUEUE] = m;
}

/* The arithmetic has no queue: it is done when it is called. */
void device_mark(struct ops *o, enum ops_queue q, struct ops_mark *m)
{
    struct device *d = o->device;
    struct mark *mark = m->event ? m->event : mem_alloc(sizeof *mark);
    *mark = (struct mark){ (int)q, q == OPS_COMM ? d->comm.added : d->queues[q].added };
    m->event = mark;
}

int device_reached(struct ops *o, const struct ops_mark *m)
{
    struct device *d = o->device;
    const struct mark *mark = m->event;
    assert(mark->queue == OPS_COMM); /* the other queues belong to one thread */
    return run_exchanges(&d->comm, mark->count);
}

void device_mark_free(struct ops *o, struct ops_mark *m)
{
    (void)o;
    free(m->event);
}

void device_after(struct ops *o, enum ops_queue q, const struct ops_mark *m)
{
    const struct mark *mark = m->event;
    struct device *d = o->device;
    if (mark->queue == OPS_COMM)
        await_exchanges(&d->comm, mark->count);
    else if (q == OPS_COMPUTE || q == OPS_COMM)
        run_queue(d, mark->queue, mark->count);
    else
        add_move(o->device, (int)q, (struct move){ .queue = mark->queue, .count = mark->count });
}

void device_move(struct ops *o, enum ops_queue q, char *to, const char *from, size_t bytes)
{
    add_move(o->device, (int)q, (struct move){ .to = to, .from = from, .bytes = bytes });
}

void device_finish(struct ops *o)
{
    struct device *d = o->device;
    for (int q = OPS_COMPUTE; q <= OPS_OUT; q++)
        run_queue(d, q, d->queues[q].added);
    await_exchanges(&d->comm, d->comm.added);
}

void *device_borrow(struct ops *o, size_t bytes)
{
    (void)o;
    return mem_alloc(bytes);
}

void device_send(struct ops *o, char *to, void *borrowed, size_t bytes)
{
    device_upload(o, to, borrowed, bytes);
    free(borrowed);
}

void device_launched(struct ops *o, const char *kernel)
{
    (void)o;
    (void)kernel;
}
