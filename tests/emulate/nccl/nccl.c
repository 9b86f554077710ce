/*
 * nccl.c - stands in the place of NCCL for emulated devices: the functions that cuda/group.c calls,
 * for processes of one machine, which exchange bytes through a file in shared memory.
 *
 * The messages between ncclGroupStart and ncclGroupEnd are one piece of work of the device's queue
 * (tests/emulate/queue.h). As with NCCL, they go on at the same time, and all of them are done
 * before what follows in the queue.
 *
 * TEXTMILL_NCCL plants a fault, as KIND:RANK:COUNT, in what RANK does as number COUNT, from 1:
 *
 *     init     ncclCommInitRank fails
 *     call     ncclGroupEnd fails
 *     async    the messages of a group stop, and ncclCommGetAsyncError tells why
 *     hang     the messages of a group stop
 *     die      the process kills itself while its messages are under way
 *
 * Compiled with LACKS, the library lacks ncclGroupEnd.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/emulate/queue.h"

enum { RING = 1 << 18, MOST = 64, SYSTEM_ERROR = 2, INTERNAL_ERROR = 3, REMOTE_ERROR = 6 };

#ifdef LACKS
#define ncclGroupEnd another_name
#endif
#define PUBLIC __attribute__((visibility("default")))

/* Bytes on their way from one member to another. */
struct ring {
    _Atomic size_t written, read;
    char bytes[RING];
};

struct shared {
    atomic_int joined, left;
    struct ring rings[]; /* [size,size]: from, to */
};

struct id {
    char path[128];
};

struct group {
    struct shared *shared;
    size_t bytes;
    char path[128];
    int rank, size, stuck;
    atomic_int error;
};

struct message {
    struct ring *ring;
    char *at;
    size_t bytes;
    int receives;
};

/* Messages that were begun together. */
struct work {
    struct group *group;
    struct message messages[2 * MOST];
    int count;
};

static struct {
    struct work *open; /* between ncclGroupStart and ncclGroupEnd */
    struct emulated_queue *stream;
    int calls;
} state;

PUBLIC int ncclGetUniqueId(struct id *out);
PUBLIC int ncclCommInitRank(struct group **out, int size, struct id id, int rank);
PUBLIC int ncclCommDestroy(struct group *g);
PUBLIC int ncclCommGetAsyncError(struct group *g, int *error);
PUBLIC const char *ncclGetErrorString(int error);
PUBLIC const char *ncclGetLastError(struct group *g);
PUBLIC int ncclGroupStart(void);
PUBLIC int ncclGroupEnd(void);
PUBLIC int ncclSend(const void *from, size_t count, int type, int peer, struct group *g,
                    struct emulated_queue *stream);
PUBLIC int ncclRecv(void *to, size_t count, int type, int peer, struct group *g,
                    struct emulated_queue *stream);

/* Returns 1 if the fault `kind` is planted for this call. */
static int planted(const char *kind, int rank, int call)
{
    char wanted[64];
    const char *fault = getenv("TEXTMILL_NCCL");
    snprintf(wanted, sizeof wanted, "%s:%d:%d", kind, rank, call);
    return fault && !strcmp(fault, wanted);
}

/* ---- groups ------------------------------------------------------------------------------- */

int ncclGetUniqueId(struct id *out)
{
    static int made;
    const char *folder = getenv("TMPDIR");
    snprintf(out->path, sizeof out->path, "%s/textmill-nccl-%ld-%d", folder ? folder : "/dev/shm",
             (long)getpid(), made++);
    return 0;
}

static struct shared *map_file(const char *path, size_t bytes)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    void *at = MAP_FAILED;
    if (fd >= 0 && !ftruncate(fd, (off_t)bytes))
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return at == MAP_FAILED ? NULL : at;
}

int ncclCommInitRank(struct group **out, int size, struct id id, int rank)
{
    static const struct timespec nap = { .tv_nsec = 100000 };
    struct group *g = calloc(1, sizeof *g);
    if (!g || size > MOST || planted("init", rank, 1))
        return INTERNAL_ERROR;
    g->bytes = sizeof *g->shared + (size_t)(size * size) * sizeof *g->shared->rings;
    g->rank = rank;
    g->size = size;
    memcpy(g->path, id.path, sizeof g->path);
    g->shared = map_file(id.path, g->bytes);
    if (!g->shared)
        return SYSTEM_ERROR;
    if (atomic_fetch_add(&g->shared->joined, 1) + 1 == size)
        unlink(id.path); /* all members have it */
    while (atomic_load(&g->shared->joined) < size)
        nanosleep(&nap, NULL);
    *out = g;
    return 0;
}

int ncclCommDestroy(struct group *g)
{
    munmap(g->shared, g->bytes);
    free(g);
    return 0;
}

int ncclCommGetAsyncError(struct group *g, int *error)
{
    *error = atomic_load(&g->error);
    return 0;
}

const char *ncclGetErrorString(int error)
{
    return error == SYSTEM_ERROR   ? "unhandled system error"
           : error == REMOTE_ERROR ? "remote process exited or there was a network error"
                                   : "internal error";
}

const char *ncclGetLastError(struct group *g)
{
    (void)g;
    return "planted by a test";
}

/* ---- messages ----------------------------------------------------------------------------- */

/* Moves as many bytes as the ring has or takes. */
static void move(struct message *m)
{
    const size_t written = atomic_load(&m->ring->written), read = atomic_load(&m->ring->read);
    const size_t at = (m->receives ? read : written) % RING;
    size_t n = m->receives ? written - read : RING - (written - read);
    n = n < m->bytes ? n : m->bytes;
    n = n < RING - at ? n : RING - at;
    if (m->receives)
        memcpy(m->at, m->ring->bytes + at, n);
    else
        memcpy(m->ring->bytes + at, m->at, n);
    atomic_fetch_add(m->receives ? &m->ring->read : &m->ring->written, n);
    m->at += n;
    m->bytes -= n;
}

static int run(void *work)
{
    struct work *w = work;
    size_t left = 0;
    for (int i = 0; i < w->count && !w->group->stuck; i++) {
        move(&w->messages[i]);
        left += w->messages[i].bytes;
    }
    if (left || w->group->stuck)
        return 0;
    free(w);
    return 1;
}

static int add(struct group *g, struct emulated_queue *stream, int from, int to, char *at,
               size_t bytes, int receives)
{
    struct work *w = state.open;
    if (!w || w->count == 2 * MOST)
        return INTERNAL_ERROR;
    state.stream = stream;
    w->group = g;
    w->messages[w->count++] = (struct message){ &g->shared->rings[from * g->size + to],
                                                stream->memory(at), bytes, receives };
    return 0;
}

int ncclSend(const void *from, size_t count, int type, int peer, struct group *g,
             struct emulated_queue *stream)
{
    char *at;
    memcpy(&at, &from, sizeof at);
    return type == 1 ? add(g, stream, g->rank, peer, at, count, 0) : INTERNAL_ERROR;
}

int ncclRecv(void *to, size_t count, int type, int peer, struct group *g,
             struct emulated_queue *stream)
{
    return type == 1 ? add(g, stream, peer, g->rank, to, count, 1) : INTERNAL_ERROR;
}

int ncclGroupStart(void)
{
    if (state.open)
        return INTERNAL_ERROR;
    state.open = calloc(1, sizeof *state.open);
    return state.open ? 0 : SYSTEM_ERROR;
}

int ncclGroupEnd(void)
{
    struct work *w = state.open;
    state.open = NULL;
    if (!w || !w->count) {
        free(w);
        return 0;
    }
    const int rank = w->group->rank, call = ++state.calls;
    if (planted("die", rank, call))
        raise(SIGKILL);
    if (planted("call", rank, call))
        return SYSTEM_ERROR;
    if (planted("async", rank, call))
        atomic_store(&w->group->error, REMOTE_ERROR);
    w->group->stuck |= planted("hang", rank, call) || planted("async", rank, call);
    state.stream->add(state.stream, run, w, 0);
    return 0;
}
