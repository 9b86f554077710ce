/*
 * mapping.h - memory maps of files. All maps are made here, so that an access to one that fails can
 * be explained.
 *
 * Such an access fails if another program made the file shorter, or if its disk cannot be read. The
 * system then sends the signal SIGBUS to the thread; tool.h catches it in main programs, writes one
 * line with the name of the file, and exits with status 1. Bytes that lie between the new end of
 * the file and the end of that page read as zeros.
 */
#pragma once

#include "common/base/base.h"

/* Maps the first `bytes` bytes, at least 1, of the open file. What is written goes to the file.
 * `protection` is that of mmap. `name`, a printf format, is the file's name in errors, with its
 * quotes. Returns the map, or NULL with an error. The descriptor may be closed after that. */
void *mapping_new(int fd, uint64_t bytes, int protection, const char *name, ...)
    __attribute__((format(printf, 4, 5)));
void mapping_free(void *data, uint64_t bytes); /* `bytes` as for mapping_new */

/* Returns the name of the file whose map holds `address`, borrowed and tamed (err.h), or NULL if
 * none does. May be called in a signal handler. */
const char *mapping_at(const void *address);
