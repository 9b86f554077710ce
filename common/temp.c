#define _GNU_SOURCE /* O_DIRECTORY */
#include "common/temp.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/mem.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- removing: system calls only, for a handler of signals ---------------------------------- */

struct entry { /* a folder entry as getdents64 returns it */
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static int remove_at(int at, const char *name);

/* Removes the entries of an open folder in one pass. Returns the number removed, or -1 if one could
 * not be removed or the folder not be read. */
static int remove_entries(int fd)
{
    _Alignas(struct entry) char list[4096];
    int gone = 0, failed = 0;
    long n;
    lseek(fd, 0, SEEK_SET);
    while ((n = syscall(SYS_getdents64, fd, list, sizeof list)) > 0)
        for (long at = 0; at < n;) {
            const struct entry *e = (const struct entry *)(list + at);
            at += e->bytes;
            if (!strcmp(e->name, ".") || !strcmp(e->name, ".."))
                continue;
            if (remove_at(fd, e->name) < 0)
                failed = 1;
            else
                gone++;
        }
    return n < 0 || failed ? -1 : gone;
}

static int remove_at(int at, const char *name)
{
    if (unlinkat(at, name, 0) == 0)
        return 0;
    if (errno != EISDIR && errno != EPERM) /* errno for a folder: EISDIR on Linux, EPERM by POSIX */
        return -1;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), gone;
    if (fd < 0)
        return -1;
    do /* repeats, since removals during a pass may skip entries */
        gone = remove_entries(fd);
    while (gone > 0);
    int why = errno;
    close(fd);
    errno = why;
    return gone < 0 ? -1 : unlinkat(at, name, AT_REMOVEDIR);
}

int temp_remove(const char *path)
{
    return remove_at(AT_FDCWD, path);
}

/* ---- those of this process ------------------------------------------------------------------ */

/* A registered temporary. Entries are never freed, because a signal handler may be reading them;
 * they are reused. */
struct temp {
    struct temp *next;
    size_t cap;
    enum temp_end end;
    atomic_int alive;
    char path[];
};
static _Atomic(struct temp *) all;
static atomic_int ending; /* 1: the program is ending; no new temporaries may be registered */
static pid_t owner;       /* process that registered them; a forked process removes nothing */

static void remove_all(enum temp_end most)
{
    if (getpid() != owner)
        return;
    atomic_store(&ending, 1);
    for (struct temp *t = atomic_load(&all); t; t = t->next)
        for (int tries = 100; atomic_load(&t->alive) && t->end <= most && tries > 0; tries--)
            /* ENOTEMPTY: another thread was creating a file */
            if (temp_remove(t->path) == 0 || errno != ENOTEMPTY)
                break;
}

void temp_remove_all(void)
{
    remove_all(TEMP_GOES);
}

static void at_exit(void)
{
    remove_all(TEMP_STAYS_ON_SIGNALS);
}

static int is_inside(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return !strncmp(path, folder, n) && path[n] == '/';
}

/* Returns an unused entry with enough room, or NULL. */
static struct temp *find_free(size_t bytes)
{
    struct temp *t = atomic_load(&all);
    while (t && (atomic_load(&t->alive) || t->cap < bytes))
        t = t->next;
    return t;
}

static void add(const char *path, enum temp_end end)
{
    size_t bytes = strlen(path) + 1;
    for (struct temp *t = atomic_load(&all); t; t = t->next)
        if (atomic_load(&t->alive) && is_inside(path, t->path))
            return;
    struct temp *t = find_free(bytes), *made = NULL;
    if (!t) {
        size_t cap = (bytes + 127) / 128 * 128;
        t = made = mem_zalloc(1, sizeof *t + cap);
        t->cap = cap;
    }
    memcpy(t->path, path, bytes);
    t->end = end;
    atomic_store(&t->alive, 1);
    if (made) {
        made->next = atomic_load(&all);
        atomic_store(&all, made);
    }
}

void temp_add(const char *path, enum temp_end end)
{
    while (atomic_load(&ending))
        pause(); /* another thread is ending the program */
    pthread_mutex_lock(&lock);
    if (!owner) {
        owner = getpid();
        atexit(at_exit);
    }
    add(path, end);
    pthread_mutex_unlock(&lock);
}

void temp_forget(const char *path)
{
    pthread_mutex_lock(&lock);
    for (struct temp *t = atomic_load(&all); t; t = t->next)
        if (atomic_load(&t->alive) && !strcmp(t->path, path))
            atomic_store(&t->alive, 0);
    pthread_mutex_unlock(&lock);
}

/* Removes temporaries and raises the signal again. Its default action is restored, and takes place
 * when the handler returns. */
static void on_signal(int number)
{
    int why = errno;
    remove_all(TEMP_GOES);
    errno = why;
    raise(number);
}

void temp_catch_signals(void)
{
    static const int ends[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU,
                                SIGABRT, SIGSEGV, SIGBUS,  SIGILL,  SIGFPE };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND }, old;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!sigaction(ends[i], NULL, &old) && old.sa_handler == SIG_DFL)
            /* not for signals that are ignored (nohup) or have another handler */
            sigaction(ends[i], &action, NULL);
    signal(SIGXFSZ, SIG_IGN);
}

/* ---- those of processes that ended ---------------------------------------------------------- */

static const char mark[] = ".tmp-";

void temp_name(struct buf *out, const char *path)
{
    buf_clear(out);
    buf_addf(out, "%s%s%ld", path, mark, (long)getpid());
}

void temp_lock(int fd)
{
    flock(fd, LOCK_EX | LOCK_NB);
}

/* Returns the process id at the end of a temporary name, or 0 for another name. */
static long process_of(const char *name)
{
    const char *at = name;
    for (const char *p = name; (p = strstr(p, mark)); p++)
        at = p + strlen(mark);
    if (at == name || !isdigit((unsigned char)*at))
        return 0;
    char *end;
    long id = strtol(at, &end, 10);
    return *end || id <= 0 || id > INT32_MAX ? 0 : id;
}

static int is_dead(const char *path)
{
    struct stat st;
    long id = process_of(path);
    if (!id || kill((pid_t)id, 0) == 0 || errno != ESRCH || lstat(path, &st) < 0)
        return 0;
    int folder = S_ISDIR(st.st_mode);
    if (!folder && !S_ISREG(st.st_mode))
        return 0;
    int fd = open(path, (folder ? O_RDONLY | O_DIRECTORY : O_RDWR) | O_NOFOLLOW | O_CLOEXEC);
    int dead = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0)
        close(fd);
    return dead;
}

/* Cache of the temporary names in the folder last written to; a run writes to few folders. */
static struct {
    char *folder, **names;
    size_t count, cap;
} seen;

static void look_into(const char *folder)
{
    for (size_t i = 0; i < seen.count; i++)
        free(seen.names[i]);
    free(seen.folder);
    seen.folder = mem_strdup(folder);
    seen.count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (process_of(e->d_name)) {
            mem_grow(seen.names, seen.cap, seen.count + 1);
            seen.names[seen.count++] = mem_strdup(e->d_name);
        }
    if (d)
        closedir(d);
}

void temp_sweep(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    struct buf folder = BUF_INIT, file = BUF_INIT;
    buf_add(&folder, path, (size_t)(base - path));
    if (!folder.len)
        buf_adds(&folder, "./");
    pthread_mutex_lock(&lock);
    if (!seen.folder || strcmp(seen.folder, folder.data))
        look_into(folder.data);
    size_t n = strlen(base);
    for (size_t i = 0; i < seen.count; i++) {
        const char *name = seen.names[i];
        if (strncmp(name, base, n) || strncmp(name + n, mark, strlen(mark)) ||
            strspn(name + n + strlen(mark), "0123456789") != strlen(name + n + strlen(mark)))
            continue;
        buf_clear(&file);
        buf_addf(&file, "%s%s", folder.data, name);
        if (is_dead(file.data))
            temp_remove(file.data);
    }
    pthread_mutex_unlock(&lock);
    buf_release(&folder);
    buf_release(&file);
}
