/*
 * faults.so, for LD_PRELOAD: the FAULT_AT-th call (from 1) of the kind FAULT_CALL fails:
 *
 *     read, write, close, fsync, rename     on a regular file or pipe that the program opened;
 *                                           rename includes the swap of two names (renameat2)
 *     unlink                                unlink or unlinkat
 *     stat, opendir, readdir                on a path that the program uses; stat includes lstat
 *     malloc                                malloc, calloc, realloc or aligned_alloc
 *     pthread_create
 *
 * with ENOSPC, EIO, ENOMEM or EAGAIN; with FAULT_KILL set the program is killed there instead. With
 * FAULT_NO_SWAP set the file system cannot swap two names. With FAULT_HURRY set a microsecond looks
 * like a second.
 * With FAULT_PLUGIN set, calls count from when a plug-in was loaded on (dlopen).
 * When the program ends, the number of such calls is written to FAULT_COUNT, so that a test knows
 * where to stop.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_long calls;
static atomic_int on; /* not while the loader reads libraries */
static long fail_at;
static const char *which;

__attribute__((constructor)) static void start(void)
{
    const char *at = getenv("FAULT_AT");
    which = getenv("FAULT_CALL");
    fail_at = at ? strtol(at, NULL, 10) : 0;
    atomic_store(&on, which && !getenv("FAULT_PLUGIN"));
}

static int counts(const char *kind)
{
    return atomic_load(&on) && !strcmp(which, kind);
}

static int fails(const char *kind, int error)
{
    if (!counts(kind) || atomic_fetch_add(&calls, 1) + 1 != fail_at)
        return 0;
    if (getenv("FAULT_KILL"))
        raise(SIGKILL);
    errno = error;
    return 1;
}

__attribute__((destructor)) static void stop(void)
{
    atomic_store(&on, 0);
    const char *path = getenv("FAULT_COUNT");
    if (!path)
        return;
    FILE *f = fopen(path, "w");
    if (f) {
        fprintf(f, "%ld\n", atomic_load(&calls));
        fclose(f);
    }
}

/* Returns 0 for paths in the system's folders, which are not the program's data. */
static int is_data_path(const char *path)
{
    static const char *const system[] = { "/proc/", "/sys/", "/usr/", "/lib", "/etc/" };
    for (size_t i = 0; i < sizeof system / sizeof *system; i++)
        if (!strncmp(path, system[i], strlen(system[i])))
            return 0;
    return 1;
}

static int is_data_fd(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return 0;
    path[n] = '\0';
    return is_data_path(path);
}

static int is_data(int fd)
{
    struct stat st;
    int why = errno;
    int yes = fd != 2 && fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode)) &&
              is_data_fd(fd);
    errno = why;
    return yes;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* ---- files --------------------------------------------------------------------------------- */

ssize_t read(int fd, void *to, size_t n)
{
    return counts("read") && is_data(fd) && fails("read", EIO) ? -1 : REAL(read)(fd, to, n);
}

ssize_t pread64(int fd, void *to, size_t n, off64_t at)
{
    return counts("read") && is_data(fd) && fails("read", EIO) ? -1 : REAL(pread64)(fd, to, n, at);
}

ssize_t write(int fd, const void *from, size_t n)
{
    return counts("write") && is_data(fd) && fails("write", ENOSPC) ? -1 : REAL(write)(fd, from, n);
}

int close(int fd)
{
    int fail = counts("close") && is_data(fd) && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY &&
               fails("close", EIO);
    int result = REAL(close)(fd);
    if (fail) {
        errno = EIO;
        return -1;
    }
    return result;
}

int fsync(int fd)
{
    return fails("fsync", EIO) ? -1 : REAL(fsync)(fd);
}

int rename(const char *from, const char *to)
{
    return fails("rename", EIO) ? -1 : REAL(rename)(from, to);
}

int unlink(const char *path)
{
    return fails("unlink", EIO) ? -1 : REAL(unlink)(path);
}

int unlinkat(int at, const char *path, int flags)
{
    return fails("unlink", EIO) ? -1 : REAL(unlinkat)(at, path, flags);
}

long syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_renameat2 && getenv("FAULT_NO_SWAP")) {
        errno = EINVAL;
        return -1;
    }
    if (number == SYS_renameat2 && fails("rename", EIO))
        return -1;
    return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int result = REAL(clock_gettime)(clock, t);
    if (getenv("FAULT_HURRY"))
        t->tv_sec = t->tv_sec * 1000000 + t->tv_nsec / 1000;
    return result;
}

/* ---- folders ------------------------------------------------------------------------------- */

#define STAT(name, type)                                                                           \
    int name(const char *restrict path, struct type *restrict st)                                  \
    {                                                                                              \
        return is_data_path(path) && fails("stat", EIO) ? -1 : REAL(name)(path, st);               \
    }
STAT(stat, stat)
STAT(lstat, stat)
STAT(stat64, stat64)
STAT(lstat64, stat64)

DIR *opendir(const char *path)
{
    return is_data_path(path) && fails("opendir", EIO) ? NULL : REAL(opendir)(path);
}

#define READDIR(name, type)                                                                        \
    struct type *name(DIR *dir)                                                                    \
    {                                                                                              \
        return counts("readdir") && is_data_fd(dirfd(dir)) && fails("readdir", EIO)                \
                   ? NULL                                                                          \
                   : REAL(name)(dir);                                                              \
    }
READDIR(readdir, dirent)
READDIR(readdir64, dirent64)

/* ---- plug-ins ------------------------------------------------------------------------------- */

/* Libraries abort the program if memory runs out while they are loaded. */
void *dlopen(const char *path, int flags)
{
    const int was = atomic_exchange(&on, 0);
    void *library = REAL(dlopen)(path, flags);
    atomic_store(&on, was || (which && library && getenv("FAULT_PLUGIN")));
    return library;
}

/* ---- memory and threads -------------------------------------------------------------------- */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

void *malloc(size_t n)
{
    return fails("malloc", ENOMEM) ? NULL : __libc_malloc(n);
}

void *calloc(size_t count, size_t size)
{
    return fails("malloc", ENOMEM) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t n)
{
    return fails("malloc", ENOMEM) ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return fails("malloc", ENOMEM) ? NULL : __libc_memalign(alignment, n);
}

int posix_memalign(void **to, size_t alignment, size_t n)
{
    if (fails("malloc", ENOMEM))
        return ENOMEM;
    *to = __libc_memalign(alignment, n);
    return *to ? 0 : ENOMEM;
}

int pthread_create(pthread_t *restrict id, const pthread_attr_t *restrict how,
                   void *(*main)(void *), void *restrict arg)
{
    return fails("pthread_create", EAGAIN) ? EAGAIN : REAL(pthread_create)(id, how, main, arg);
}
