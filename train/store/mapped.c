#include "train/store/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/pool.h"
#include "common/files/file.h"
#include "common/files/mapping.h"
#include "common/program/trace.h"

#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

enum { PAGE = 4096 }; /* a page has this size or more; used to touch each page */

enum place { OUT, COMING, IN, LEAVING };

struct array {
    void *data;
    size_t bytes;
    off_t offset;
    enum place place;
    int users;
    int wanted;        /* 1: wanted again while it is leaving, so it stays */
    int changed;       /* 1: changed since it came to memory */
    int stored;        /* 1: its contents are in the file; 0: it is zero */
    int dead;          /* 1: dropped: it leaves without being written */
    enum use_mode use; /* the use for which it is read */
};

struct queue {
    int *items; /* a ring buffer; each array is in it at most once */
    int first, count;
};

struct mapped {
    struct home home;
    char *dir;
    int made; /* number of folders, the last ones of `dir`, that did not exist before */
    int fd, count;
    char *data;
    size_t bytes;
    uint64_t budget, resident;
    struct array *arrays;
    struct queue coming, leaving;
    int departing; /* number of arrays that are leaving */
    int error;     /* errno of the first write that failed */
    struct mapped_traffic traffic;
    pthread_t reader, writer;
    int running; /* 1: both threads run */
    int quit;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* ---- queues ---------------------------------------------------------------------------------- */

static void push(struct mapped *m, struct queue *q, int i)
{
    assert(q->count < m->count);
    q->items[(q->first + q->count++) % m->count] = i;
    pthread_cond_broadcast(&m->changed);
}

/* Waits for the next item of a queue, the number of an array, removes it and returns it. Returns -1
 * when the queue is empty and m->quit is set. The caller holds the lock. */
static int take(struct mapped *m, struct queue *q)
{
    while (!q->count && !m->quit)
        pthread_cond_wait(&m->changed, &m->lock);
    if (!q->count)
        return -1;
    int i = q->items[q->first];
    q->first = (q->first + 1) % m->count;
    q->count--;
    return i;
}

/* ---- in and out ------------------------------------------------------------------------------ */

/* Sets the array to zero in the file and the page cache; its space in the file stays reserved.
 * Returns 1, or 0 if the file system does not support this. */
static int forget(struct mapped *m, const struct array *a)
{
    return !fallocate(m->fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, a->offset,
                      (off_t)a->bytes);
}

/* Loads the pages of an array into memory, writable unless they will only be read. Takes one system
 * call if the kernel has it. */
static void populate(struct mapped *m, struct array *a)
{
    if (a->use == MODE_MAKE && a->stored && forget(m, a))
        a->stored = 0;
    TRACE("disk", "read", -1, 0, a->stored ? a->bytes : 0);
    int write = a->use != MODE_READ;
    if (!madvise(a->data, a->bytes, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
        return;
    madvise(a->data, a->bytes, MADV_WILLNEED);
    volatile char *p = (volatile char *)a->data;
    for (size_t i = 0; i < a->bytes; i += PAGE) {
        char byte = p[i];
        if (write)
            p[i] = byte;
    }
}

/* Writes the array to the file and waits for the end. Returns 0 or an errno. */
static int write_out(struct mapped *m, const struct array *a)
{
    TRACE("disk", "write", -1, 0, a->bytes);
    const unsigned whole = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                           SYNC_FILE_RANGE_WAIT_AFTER;
    if (!sync_file_range(m->fd, a->offset, (off_t)a->bytes, whole))
        return 0;
    return errno == ENOSYS && !fdatasync(m->fd) ? 0 : errno; /* WSL 1 has no sync_file_range */
}

/* Removes the array from memory and from the page cache. Its pages must be clean. */
static void evict(struct mapped *m, const struct array *a)
{
    madvise(a->data, a->bytes, MADV_DONTNEED);
    posix_fadvise(m->fd, a->offset, (off_t)a->bytes, POSIX_FADV_DONTNEED);
}

static void *read_ahead(void *arg)
{
    struct mapped *m = arg;
    pthread_mutex_lock(&m->lock);
    for (int i; (i = take(m, &m->coming)) >= 0;) {
        struct array *a = &m->arrays[i];
        pthread_mutex_unlock(&m->lock);
        populate(m, a);
        pthread_mutex_lock(&m->lock);
        m->traffic.read_bytes += a->stored ? a->bytes : 0;
        a->place = IN;
        pthread_cond_broadcast(&m->changed);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* Writes a leaving array to the file, or forgets it if it was dropped. The lock is held on entry
 * and on return. */
static void clean(struct mapped *m, struct array *a)
{
    const int dead = a->dead;
    pthread_mutex_unlock(&m->lock);
    const int forgotten = dead && forget(m, a), error = forgotten ? 0 : write_out(m, a);
    pthread_mutex_lock(&m->lock);
    m->error = m->error ? m->error : error;
    m->traffic.written_bytes += forgotten ? 0 : a->bytes;
    a->stored = !forgotten;
    a->changed = a->dead = 0;
}

/* The writer thread: writes leaving arrays to the file and removes them from memory. An array that
 * is wanted again meanwhile stays in memory. */
static void *write_behind(void *arg)
{
    struct mapped *m = arg;
    pthread_mutex_lock(&m->lock);
    for (int i; (i = take(m, &m->leaving)) >= 0;) {
        struct array *a = &m->arrays[i];
        if (!a->wanted && (a->changed || a->dead))
            clean(m, a);
        int stays = a->wanted;
        if (!stays) {
            pthread_mutex_unlock(&m->lock);
            evict(m, a);
            pthread_mutex_lock(&m->lock);
            m->resident -= a->bytes;
        }
        a->place = stays ? IN : OUT;
        a->wanted = 0;
        m->departing--;
        pthread_cond_broadcast(&m->changed);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* ---- life cycle ------------------------------------------------------------------------------ */

/* Opens a file without a name in `dir`, reserves its space, and maps it. */
static int open_file(struct mapped *m, const char *dir)
{
    m->dir = mem_strdup(dir);
    if (file_mkdirs_count(dir, &m->made) < 0)
        return -1;
    m->fd = file_nameless(dir);
    if (m->fd < 0)
        return -1;
    int failed;
    do
        failed = posix_fallocate(m->fd, 0, (off_t)m->bytes);
    while (failed == EINTR);
    if (failed) {
        char size[32];
        return err_set("cannot reserve %s in '%s': %s", log_bytes(size, m->bytes), dir,
                       strerror(failed));
    }
    m->data = mapping_new(m->fd, m->bytes, PROT_READ | PROT_WRITE, "a temporary file in '%s'", dir);
    return m->data ? 0 : -1;
}

uint64_t mapped_bytes(uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

void mapped_free(struct mapped *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->quit = 1;
    m->coming.count = m->leaving.count = 0; /* nothing must be written: the file is deleted */
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
    if (m->running) {
        pthread_join(m->reader, NULL);
        pthread_join(m->writer, NULL);
    }
    if (m->data)
        mapping_free(m->data, m->bytes);
    if (m->fd >= 0)
        close(m->fd);
    if (m->dir)
        file_rmdirs(m->dir, m->made);
    free(m->dir);
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->changed);
    free(m->coming.items);
    free(m->leaving.items);
    free(m->arrays);
    free(m);
}

/* ---- use ------------------------------------------------------------------------------------- */

static void summon(struct mapped *m, int i, enum use_mode use)
{
    struct array *a = &m->arrays[i];
    a->place = COMING;
    a->use = use;
    m->resident += a->bytes;
    push(m, &m->coming, i);
}

void mapped_expect(struct home *h, int i, enum use_mode use)
{
    struct mapped *m = (struct mapped *)h;
    struct array *a = &m->arrays[i];
    pthread_mutex_lock(&m->lock);
    if (a->place == LEAVING)
        a->wanted = 1;
    else if (a->bytes && a->place == OUT && m->resident + a->bytes <= m->budget)
        summon(m, i, use);
    pthread_mutex_unlock(&m->lock);
}

void *mapped_fetch(struct home *h, int i, enum use_mode use)
{
    struct mapped *m = (struct mapped *)h;
    struct array *a = &m->arrays[i];
    pthread_mutex_lock(&m->lock);
    if (a->bytes && a->place != IN) {
        TRACE("disk", "waiting for the disk", -1, 0, 0);
        double began = log_seconds();
        a->wanted = a->place == LEAVING;
        while (a->place == LEAVING ||
               (a->place == OUT && m->resident + a->bytes > m->budget && m->departing))
            pthread_cond_wait(&m->changed, &m->lock);
        if (a->place == OUT)
            summon(m, i, use);
        while (a->place != IN)
            pthread_cond_wait(&m->changed, &m->lock);
        m->traffic.waited_seconds += log_seconds() - began;
    }
    a->users++;
    a->dead = 0;
    a->changed |= use != MODE_READ;
    pthread_mutex_unlock(&m->lock);
    return a->data;
}

void mapped_release(struct home *h, int i, enum use_then then)
{
    struct mapped *m = (struct mapped *)h;
    struct array *a = &m->arrays[i];
    pthread_mutex_lock(&m->lock);
    assert(a->users > 0);
    a->dead = then == THEN_DROPPED;
    if (!--a->users && a->bytes && then != THEN_STAYS) {
        a->place = LEAVING;
        m->departing++;
        push(m, &m->leaving, i);
    }
    pthread_mutex_unlock(&m->lock);
}

static struct ops_array fetch(struct home *h, int i, enum use_mode use)
{
    return ops_host_array(mapped_fetch(h, i, use), OPS_U8);
}

struct mapped *mapped_new(const char *dir, const uint64_t *bytes, int count, uint64_t budget_bytes)
{
    struct mapped *m = mem_zalloc(1, sizeof *m);
    m->home = (struct home){ fetch, mapped_release, mapped_expect };
    m->fd = -1;
    m->count = count;
    m->budget = budget_bytes;
    m->arrays = mem_zalloc((size_t)count, sizeof *m->arrays);
    m->coming.items = mem_zalloc((size_t)count, sizeof(int));
    m->leaving.items = mem_zalloc((size_t)count, sizeof(int));
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    for (int i = 0; i < count; i++) {
        m->arrays[i].offset = (off_t)m->bytes;
        m->arrays[i].bytes = mapped_bytes(bytes[i]);
        m->bytes += m->arrays[i].bytes;
    }
    int result = open_file(m, dir);
    for (int i = 0; !result && i < count; i++)
        m->arrays[i].data = m->data + m->arrays[i].offset;
    if (result < 0) {
        mapped_free(m);
        return NULL;
    }
    pool_start_thread(&m->reader, read_ahead, m);
    pool_start_thread(&m->writer, write_behind, m);
    m->running = 1;
    return m;
}

struct home *mapped_home(struct mapped *m)
{
    return m ? &m->home : NULL;
}

int mapped_check(struct mapped *m)
{
    pthread_mutex_lock(&m->lock);
    int error = m->error;
    pthread_mutex_unlock(&m->lock);
    return error ? err_set("cannot write the file in --memmap-dir: %s", strerror(error)) : 0;
}

struct mapped_traffic mapped_traffic(struct mapped *m)
{
    pthread_mutex_lock(&m->lock);
    struct mapped_traffic t = m->traffic;
    pthread_mutex_unlock(&m->lock);
    return t;
}
