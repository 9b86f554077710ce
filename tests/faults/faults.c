/*
 * faults.so, for LD_PRELOAD: the FAULT_AT-th call (from 1) of the kind FAULT_CALL (read, write,
 * close, fsync, rename) on a regular file or pipe of the program's own fails with ENOSPC or EIO;
 * with FAULT_KILL set the program is killed there instead. When the program ends, the number of
 * such calls is written to FAULT_COUNT, so that a test knows where to stop.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long calls;
static atomic_int on; /* not while the loader reads libraries */

static int fails(const char *kind)
{
    const char *which = getenv("FAULT_CALL"), *at = getenv("FAULT_AT");
    if (!atomic_load(&on) || !which || strcmp(which, kind))
        return 0;
    long n = atomic_fetch_add(&calls, 1) + 1;
    if (!at || n != strtol(at, NULL, 10))
        return 0;
    if (getenv("FAULT_KILL"))
        raise(SIGKILL);
    return 1;
}

/* A program's own libraries and /proc are not its data. */
static int is_data(int fd)
{
    struct stat st;
    char link[64], path[4096];
    if (fd == 2 || fstat(fd, &st) < 0 || !(S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode)))
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return 0;
    path[n] = '\0';
    return strncmp(path, "/proc/", 6) && strncmp(path, "/sys/", 5) && strncmp(path, "/usr/", 5) &&
           strncmp(path, "/lib", 4) && strncmp(path, "/etc/", 5);
}

__attribute__((constructor)) static void start(void)
{
    atomic_store(&on, 1);
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

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t read(int fd, void *to, size_t n)
{
    if (is_data(fd) && fails("read")) {
        errno = EIO;
        return -1;
    }
    return REAL(read)(fd, to, n);
}

ssize_t write(int fd, const void *from, size_t n)
{
    if (is_data(fd) && fails("write")) {
        errno = ENOSPC;
        return -1;
    }
    return REAL(write)(fd, from, n);
}

int close(int fd)
{
    int fail = is_data(fd) && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY && fails("close");
    int result = REAL(close)(fd);
    if (fail) {
        errno = EIO;
        return -1;
    }
    return result;
}

int fsync(int fd)
{
    if (fails("fsync")) {
        errno = EIO;
        return -1;
    }
    return REAL(fsync)(fd);
}

int rename(const char *from, const char *to)
{
    if (fails("rename")) {
        errno = EIO;
        return -1;
    }
    return REAL(rename)(from, to);
}
