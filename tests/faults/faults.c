/*
 * faults.so, for LD_PRELOAD: the FAULT_AT-th call (from 1) of the kind FAULT_CALL fails. The kinds
 * stand in the table below. Calls on files count if the file is a regular file or a pipe, and
 * calls on paths if the path is not in a folder of the system. FAULT_MODE says how it fails:
 *
 *     once      with the error of its kind (if FAULT_MODE is not set)
 *     always    this call and all later ones, with the error of their kind
 *     eintr     once, with EINTR, as if a signal had arrived
 *     short     a read or a write moves half of the bytes, this time and each later time
 *     kill      the program is killed in place of the call
 *     term      a signal that programs catch, SIGTERM, ends it there
 *     bus       a file is mapped, but its pages cannot be read: an access raises SIGBUS
 *     wait      the call waits until a file of the name FAULT_UNTIL is there, and succeeds; calls
 *               of the program's first thread do not count
 *
 * With FAULT_MANY set the machine may have more than 1,024 processors.
 * With FAULT_NO_SWAP set the file system cannot swap two names. With FAULT_HURRY set a microsecond
 * looks like a second.
 * With FAULT_PLUGIN set, calls count from when a plug-in was loaded on (dlopen). With FAULT_OWN
 * set, those of libraries do not count: MPI's crash without memory. When a call fails, the file
 * FAULT_FIRED is made. When the program ends, the number of calls is written to FAULT_COUNT, and
 * the numbers of all kinds, in lines of name and number, to FAULT_COUNTS, so that a test knows
 * where to stop.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The kinds of calls, and the error of each. A kind has all functions that do the same. */
enum kind {
    KIND_read,
    KIND_write,
    KIND_close,
    KIND_fsync,
    KIND_rename,
    KIND_unlink,
    KIND_stat,
    KIND_fstat,
    KIND_opendir,
    KIND_readdir,
    KIND_malloc,
    KIND_pthread_create,
    KIND_open,
    KIND_ftruncate,
    KIND_fallocate,
    KIND_lseek,
    KIND_mmap,
    KIND_mkdir,
    KIND_rmdir,
    KIND_flock,
    KIND_fcntl,
    KIND_realpath,
    KIND_readlink,
    KIND_access,
    KIND_fchmod,
    KIND_getrandom,
    KIND_syncfs,
    KIND_sync_file_range,
    KIND_madvise,
    KIND_poll,
    KIND_fdopen,
    KIND_sched_getaffinity,
    KIND_gethostname,
    N_KINDS
};
static const struct {
    const char *name;
    int error;
} kinds[] = {
    [KIND_read] = { "read", EIO },
    [KIND_write] = { "write", ENOSPC },
    [KIND_close] = { "close", EIO },
    [KIND_fsync] = { "fsync", EIO },
    [KIND_rename] = { "rename", EIO },
    [KIND_unlink] = { "unlink", EIO },
    [KIND_stat] = { "stat", EIO },
    [KIND_fstat] = { "fstat", EIO },
    [KIND_opendir] = { "opendir", EIO },
    [KIND_readdir] = { "readdir", EIO },
    [KIND_malloc] = { "malloc", ENOMEM },
    [KIND_pthread_create] = { "pthread_create", EAGAIN },
    [KIND_open] = { "open", EMFILE },
    [KIND_ftruncate] = { "ftruncate", EIO },
    [KIND_fallocate] = { "fallocate", ENOSPC },
    [KIND_lseek] = { "lseek", EIO },
    [KIND_mmap] = { "mmap", ENOMEM },
    [KIND_mkdir] = { "mkdir", ENOSPC },
    [KIND_rmdir] = { "rmdir", EIO },
    [KIND_flock] = { "flock", ENOLCK },
    [KIND_fcntl] = { "fcntl", ENOLCK },
    [KIND_realpath] = { "realpath", EIO },
    [KIND_readlink] = { "readlink", EIO },
    [KIND_access] = { "access", EIO },
    [KIND_fchmod] = { "fchmod", EPERM },
    [KIND_getrandom] = { "getrandom", ENOSYS },
    [KIND_syncfs] = { "syncfs", EIO },
    [KIND_sync_file_range] = { "sync_file_range", ENOSYS },
    [KIND_madvise] = { "madvise", EINVAL },
    [KIND_poll] = { "poll", ENOMEM },
    [KIND_fdopen] = { "fdopen", ENOMEM },
    [KIND_sched_getaffinity] = { "sched_getaffinity", EINVAL },
    [KIND_gethostname] = { "gethostname", EPERM },
};

static atomic_long calls[N_KINDS];
static atomic_int on; /* not while the loader reads libraries */
static long fail_at;
static int which = -1;
static enum { ONCE, ALWAYS, EINTR_ONCE, SHORT, KILL, TERM, WAIT, BUS } mode;
static uintptr_t own_begin, own_end = UINTPTR_MAX; /* calls from there count */

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Finds the addresses of the program, which comes before its libraries. */
static int find_program(struct dl_phdr_info *info, size_t, void *)
{
    own_begin = UINTPTR_MAX, own_end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        const uintptr_t end = begin + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        own_begin = begin < own_begin ? begin : own_begin;
        own_end = end > own_end ? end : own_end;
    }
    return 1;
}

__attribute__((constructor)) static void start(void)
{
    static const char *const modes[] = { "once", "always", "eintr", "short",
                                         "kill", "term",   "wait",  "bus" };
    const char *at = getenv("FAULT_AT"), *call = getenv("FAULT_CALL"), *how = getenv("FAULT_MODE");
    for (int k = 0; call && k < N_KINDS; k++)
        if (!strcmp(call, kinds[k].name))
            which = k;
    for (int m = 0; how && m < (int)(sizeof modes / sizeof *modes); m++)
        if (!strcmp(how, modes[m]))
            mode = m;
    fail_at = at ? strtol(at, NULL, 10) : 0;
    if (getenv("FAULT_OWN"))
        dl_iterate_phdr(find_program, NULL);
    atomic_store(&on, (which >= 0 || getenv("FAULT_COUNTS")) && !getenv("FAULT_PLUGIN"));
}

/* Counts a call. Returns 1 if it shall fail, with errno set, 2 if it shall move half of its bytes
 * or give pages that cannot be read, or else 0. Inline, so that the address is that of who calls.
 */
__attribute__((always_inline)) static inline int hit(enum kind kind)
{
    const uintptr_t caller = (uintptr_t)__builtin_return_address(0);
    if (caller < own_begin || caller >= own_end)
        return 0;
    if (!atomic_load(&on) || (mode == WAIT && REAL(syscall)(SYS_gettid) == getpid()))
        return 0;
    const long n = atomic_fetch_add(&calls[kind], 1) + 1;
    if ((int)kind != which || !fail_at ||
        (mode == ALWAYS || mode == SHORT ? n < fail_at : n != fail_at))
        return 0;
    const char *fired = getenv("FAULT_FIRED");
    if (fired && n == fail_at)
        REAL(syscall)
    (SYS_close, REAL(syscall)(SYS_openat, AT_FDCWD, fired, O_CREAT | O_WRONLY, 0666));
    if (mode == KILL || mode == TERM)
        raise(mode == KILL ? SIGKILL : SIGTERM);
    while (mode == WAIT && REAL(syscall)(SYS_faccessat, AT_FDCWD, getenv("FAULT_UNTIL"), F_OK, 0))
        REAL(poll)(NULL, 0, 10);
    if (mode == WAIT)
        return 0;
    errno = mode == EINTR_ONCE ? EINTR : kinds[kind].error;
    return mode == SHORT || mode == BUS ? 2 : 1;
}

__attribute__((always_inline)) static inline int fails(enum kind kind)
{
    return hit(kind) == 1;
}

static void print_counts(const char *path, int only)
{
    FILE *f = path ? fopen(path, "w") : NULL;
    for (int k = 0; f && k < N_KINDS; k++) {
        if (only >= 0 && k == only)
            fprintf(f, "%ld\n", atomic_load(&calls[k]));
        else if (only < 0 && atomic_load(&calls[k]))
            fprintf(f, "%s %ld\n", kinds[k].name, atomic_load(&calls[k]));
    }
    if (f)
        fclose(f);
}

__attribute__((destructor)) static void stop(void)
{
    atomic_store(&on, 0);
    print_counts(which >= 0 ? getenv("FAULT_COUNT") : NULL, which);
    print_counts(getenv("FAULT_COUNTS"), -1);
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
    int yes = fd != 2 && REAL(fstat)(fd, &st) == 0 &&
              (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode)) && is_data_fd(fd);
    errno = why;
    return yes;
}

/* ---- files --------------------------------------------------------------------------------- */

/* Defines a function that moves n bytes. */
#define MOVES(kind, name, args, pass)                                                              \
    ssize_t name args                                                                              \
    {                                                                                              \
        const int h = atomic_load(&on) && is_data(fd) ? hit(KIND_##kind) : 0;                      \
        if (h == 1)                                                                                \
            return -1;                                                                             \
        if (h == 2 && n > 1)                                                                       \
            n /= 2;                                                                                \
        return REAL(name) pass;                                                                    \
    }
MOVES(read, read, (int fd, void *to, size_t n), (fd, to, n))
MOVES(read, pread64, (int fd, void *to, size_t n, off64_t at), (fd, to, n, at))
MOVES(write, write, (int fd, const void *from, size_t n), (fd, from, n))
MOVES(write, pwrite64, (int fd, const void *from, size_t n, off64_t at), (fd, from, n, at))
MOVES(write, writev, (int fd, const struct iovec *parts, int n), (fd, parts, n))

/* Defines a function on an open file, or one on a path, that returns -1 if it fails. */
#define ON_FILE(kind, type, name, args, pass)                                                      \
    type name args                                                                                 \
    {                                                                                              \
        return is_data(fd) && fails(KIND_##kind) ? -1 : REAL(name) pass;                           \
    }
#define ON_PATH(kind, type, name, args, pass, failed)                                              \
    type name args                                                                                 \
    {                                                                                              \
        return is_data_path(path) && fails(KIND_##kind) ? failed : REAL(name) pass;                \
    }
ON_FILE(ftruncate, int, ftruncate64, (int fd, off64_t n), (fd, n))
ON_FILE(fallocate, int, fallocate64, (int fd, int how, off64_t at, off64_t n), (fd, how, at, n))
ON_FILE(lseek, off64_t, lseek64, (int fd, off64_t at, int from), (fd, at, from))
ON_FILE(fstat, int, fstat64, (int fd, struct stat64 *st), (fd, st))
ON_FILE(fchmod, int, fchmod, (int fd, mode_t m), (fd, m))
ON_FILE(flock, int, flock, (int fd, int how), (fd, how))
ON_PATH(rename, int, rename, (const char *path, const char *to), (path, to), -1)
ON_PATH(unlink, int, unlink, (const char *path), (path), -1)
ON_PATH(unlink, int, unlinkat, (int at, const char *path, int flags), (at, path, flags), -1)
ON_PATH(mkdir, int, mkdir, (const char *path, mode_t m), (path, m), -1)
ON_PATH(rmdir, int, rmdir, (const char *path), (path), -1)
ON_PATH(access, int, access, (const char *path, int how), (path, how), -1)
ON_PATH(stat, int, stat, (const char *restrict path, struct stat *restrict st), (path, st), -1)
ON_PATH(stat, int, lstat, (const char *restrict path, struct stat *restrict st), (path, st), -1)
ON_PATH(stat, int, stat64, (const char *restrict path, struct stat64 *restrict st), (path, st), -1)
ON_PATH(stat, int, lstat64, (const char *restrict path, struct stat64 *restrict st), (path, st), -1)
ON_PATH(stat, int, fstatat64,
        (int at, const char *restrict path, struct stat64 *restrict st, int flags),
        (at, path, st, flags), -1)
ON_PATH(readlink, ssize_t, readlink, (const char *restrict path, char *restrict to, size_t n),
        (path, to, n), -1)
ON_PATH(realpath, char *, realpath, (const char *restrict path, char *restrict to), (path, to),
        NULL)
ON_PATH(opendir, DIR *, opendir, (const char *path), (path), NULL)

/* open and its kin have an argument more if they create a file. */
#define OPENS(name, args, path, pass)                                                              \
    int name args                                                                                  \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        const mode_t m = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;                 \
        va_end(list);                                                                              \
        return is_data_path(path) && fails(KIND_open) ? -1 : REAL(name) pass;                      \
    }
OPENS(open, (const char *path, int flags, ...), path, (path, flags, m))
OPENS(open64, (const char *path, int flags, ...), path, (path, flags, m))
OPENS(openat64, (int at, const char *path, int flags, ...), path, (at, path, flags, m))
ON_PATH(open, int, mkostemp64, (char *path, int flags), (path, flags), -1)

FILE *fdopen(int fd, const char *how)
{
    return is_data(fd) && fails(KIND_fdopen) ? NULL : REAL(fdopen)(fd, how);
}

/* Returns 1 for the mark of a temporary folder: it is empty, so that its end loses nothing. */
static int is_mark(int fd)
{
    struct stat st;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    path[n < 0 ? 0 : n] = '\0';
    return strstr(path, "/.textmill-") && REAL(fstat)(fd, &st) == 0 && !st.st_size;
}

int close(int fd)
{
    int fail = is_data(fd) && !is_mark(fd) && (REAL(fcntl)(fd, F_GETFL) & O_ACCMODE) != O_RDONLY &&
               fails(KIND_close);
    int why = errno, result = REAL(close)(fd);
    if (!fail)
        return result;
    errno = why;
    return -1;
}

int fsync(int fd)
{
    return fails(KIND_fsync) ? -1 : REAL(fsync)(fd);
}

int syncfs(int fd)
{
    return fails(KIND_syncfs) ? -1 : REAL(syncfs)(fd);
}

int sync_file_range(int fd, off64_t at, off64_t n, unsigned how)
{
    return fails(KIND_sync_file_range) ? -1 : REAL(sync_file_range)(fd, at, n, how);
}

int posix_fallocate64(int fd, off64_t at, off64_t n)
{
    return is_data(fd) && fails(KIND_fallocate) ? errno : REAL(posix_fallocate64)(fd, at, n);
}

/* Only locks count. */
int fcntl64(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    const int locks = command == F_SETLK || command == F_OFD_SETLK || command == F_OFD_SETLKW;
    return locks && fails(KIND_fcntl) ? -1 : REAL(fcntl64)(fd, command, argument);
}

void *mmap64(void *near, size_t n, int access, int flags, int fd, off64_t at)
{
    const int h = hit(KIND_mmap);
    void *p = h == 1 ? MAP_FAILED : REAL(mmap64)(near, n, access, flags, fd, at);
    const int empty = h == 2 && p != MAP_FAILED && fd >= 0 ? memfd_create("empty", 0) : -1;
    if (empty < 0)
        return p;
    REAL(mmap64)(p, n, access, flags | MAP_FIXED, empty, 0);
    REAL(close)(empty);
    return p;
}

int madvise(void *p, size_t n, int advice)
{
    return fails(KIND_madvise) ? -1 : REAL(madvise)(p, n, advice);
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
    if (number == SYS_renameat2 && fails(KIND_rename))
        return -1;
    return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define READDIR(name, type)                                                                        \
    struct type *name(DIR *dir)                                                                    \
    {                                                                                              \
        return is_data_fd(dirfd(dir)) && fails(KIND_readdir) ? NULL : REAL(name)(dir);             \
    }
READDIR(readdir, dirent)
READDIR(readdir64, dirent64)

/* ---- the system ---------------------------------------------------------------------------- */

ssize_t getrandom(void *to, size_t n, unsigned flags)
{
    return fails(KIND_getrandom) ? -1 : REAL(getrandom)(to, n, flags);
}

int poll(struct pollfd *files, nfds_t n, int ms)
{
    return fails(KIND_poll) ? -1 : REAL(poll)(files, n, ms);
}

int sched_getaffinity(pid_t id, size_t n, cpu_set_t *set)
{
    if (getenv("FAULT_MANY") && 8 * n <= 1024) {
        errno = EINVAL;
        return -1;
    }
    return fails(KIND_sched_getaffinity) ? -1 : REAL(sched_getaffinity)(id, n, set);
}

int gethostname(char *to, size_t n)
{
    return fails(KIND_gethostname) ? -1 : REAL(gethostname)(to, n);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int result = REAL(clock_gettime)(clock, t);
    if (getenv("FAULT_HURRY"))
        t->tv_sec = t->tv_sec * 1000000 + t->tv_nsec / 1000;
    return result;
}

/* Libraries abort the program if memory runs out while they are loaded. */
void *dlopen(const char *path, int flags)
{
    const int was = atomic_exchange(&on, 0);
    void *library = REAL(dlopen)(path, flags);
    atomic_store(&on, was || (which >= 0 && library && getenv("FAULT_PLUGIN")));
    return library;
}

/* ---- memory and threads -------------------------------------------------------------------- */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

void *malloc(size_t n)
{
    return fails(KIND_malloc) ? NULL : __libc_malloc(n);
}

void *calloc(size_t count, size_t size)
{
    return fails(KIND_malloc) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t n)
{
    return fails(KIND_malloc) ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return fails(KIND_malloc) ? NULL : __libc_memalign(alignment, n);
}

int posix_memalign(void **to, size_t alignment, size_t n)
{
    if (fails(KIND_malloc))
        return ENOMEM;
    *to = __libc_memalign(alignment, n);
    return *to ? 0 : ENOMEM;
}

int pthread_create(pthread_t *restrict id, const pthread_attr_t *restrict how,
                   void *(*main)(void *), void *restrict arg)
{
    return fails(KIND_pthread_create) ? EAGAIN : REAL(pthread_create)(id, how, main, arg);
}
