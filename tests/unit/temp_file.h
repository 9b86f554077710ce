/* temp_file.h - a file of given bytes with a new name in /tmp. */
#pragma once

#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/mem.h"

/* Makes a file of bytes[n]. Returns its path, for drop_file. */
static inline char *temp_file(const void *bytes, size_t n)
{
    char *path = mem_strdup("/tmp/textmill-test-XXXXXX");
    const int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
    return path;
}

/* Removes a file of temp_file. */
static inline void drop_file(char *path)
{
    unlink(path);
    free(path);
}
