/*
 * spill.h - an append-only sequence of bytes that may be larger than memory.
 *
 * Up to a limit the bytes stay in memory. Beyond it they go to a file without a name in the folder
 * for temporary files (file.h), which is mapped by spill_finish.
 */
#pragma once

#include "common/base/base.h"

struct spill {
    int fd;         /* descriptor of the temporary file; -1: no file, or already mapped */
    size_t most;    /* most bytes to hold in memory */
    uint64_t bytes; /* bytes added so far */
    struct buf held;
    const char *data; /* all bytes; valid after spill_finish */
    int mapped;       /* 1: `data` is a map of the temporary file */
};

void spill_init(struct spill *s, size_t most);

/* spill_add appends bytes. spill_finish ends adding and sets `data`. Both return 0, or -1 with an
 * error. */
int spill_add(struct spill *s, const void *bytes, size_t n);
int spill_finish(struct spill *s);

/* After spill_finish: tells the system that reads will be random, so it does not read ahead. */
void spill_at_random(struct spill *s);
/* After spill_finish: tells the system that the first n bytes need not stay in memory. */
void spill_forget(struct spill *s, uint64_t n);
void spill_clear(struct spill *s); /* drops all bytes; bytes can be added again */
void spill_release(struct spill *s);
