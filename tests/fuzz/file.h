/* file.h - gives the fuzzer's bytes to readers of files and folders. */
#pragma once

#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/files/temp.h"

/* Makes a file in memory with these bytes and sets `path` to its name. Returns its descriptor; the
 * file is gone when the caller closes it. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[64])
{
    int fd = (int)syscall(SYS_memfd_create, "fuzz", 0);
    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static char fuzz_path[] = "/tmp/textmill-fuzz-XXXXXX";

static inline void fuzz_remove(void)
{
    temp_remove(fuzz_path);
}

/* Returns a folder for this process, which is removed at exit. */
static inline const char *fuzz_folder(void)
{
    static const char *made;
    if (!made) {
        made = mkdtemp(fuzz_path);
        assert(made);
        atexit(fuzz_remove);
    }
    return made;
}

/* Writes a file of that folder. */
static inline void fuzz_put(const char *name, const void *bytes, size_t n)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
}
