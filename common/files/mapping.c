#include "common/files/mapping.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>

/* A mapped file. Entries are reused but never freed: a signal handler may be reading them. */
struct entry {
    struct entry *next;
    _Atomic(const char *) data; /* NULL: the entry is free */
    uint64_t bytes;
    char name[1024];
};
enum { LIST_BITS = 12 };
static _Atomic(struct entry *) lists[1 << LIST_BITS]; /* by the address: there may be many maps */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic(struct entry *) *list_of(const void *data)
{
    return &lists[(uintptr_t)data * UINT64_C(0x9E3779B97F4A7C15) >> (64 - LIST_BITS)];
}

/* Returns the entry of the map `data`, or a free entry if `data` is NULL; NULL if there is none. */
static struct entry *find(struct entry *e, const void *data)
{
    while (e && atomic_load(&e->data) != data)
        e = e->next;
    return e;
}

void *mapping_new(int fd, uint64_t bytes, int protection, const char *name, ...)
{
    char text[1024];
    va_list args;
    va_start(args, name);
    vsnprintf(text, sizeof text, name, args);
    va_end(args);
    const int shared = protection & PROT_WRITE; /* FUSE without a cache has no shared maps */
    void *data = mmap(NULL, bytes, protection, shared ? MAP_SHARED : MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
        err_set("cannot map %s: %s%s", text, strerror(errno),
                errno == ENOMEM ? ", or vm.max_map_count maps are open" : "");
        return NULL;
    }
    struct entry *spare = mem_zalloc(1, sizeof *spare); /* if memory runs out, nothing is locked */
    pthread_mutex_lock(&lock);
    _Atomic(struct entry *) *list = list_of(data);
    struct entry *e = find(atomic_load(list), NULL);
    if (!e) {
        e = spare;
        spare = NULL;
        e->next = atomic_load(list);
        atomic_store(list, e);
    }
    err_tame(e->name, sizeof e->name, text);
    e->bytes = bytes;
    atomic_store(&e->data, data);
    pthread_mutex_unlock(&lock);
    free(spare);
    return data;
}

void mapping_free(void *data, uint64_t bytes)
{
    atomic_store(&find(atomic_load(list_of(data)), data)->data, NULL);
    munmap(data, bytes);
}

const char *mapping_at(const void *address)
{
    for (size_t i = 0; i < 1 << LIST_BITS; i++)
        for (const struct entry *e = atomic_load(&lists[i]); e; e = e->next) {
            const char *data = atomic_load(&e->data);
            if (data && (const char *)address >= data && (const char *)address < data + e->bytes)
                return e->name;
        }
    return NULL;
}
