/*
 * spill.h - bytes that are only added to, more than memory may hold.
 *
 * They stay in memory while they are few; then they go to a file without a name in the folder for
 * temporary files (file.h), which is mapped when all are there.
 */
#ifndef TEXTMILL_COMMON_SPILL_H
#define TEXTMILL_COMMON_SPILL_H

#include <stdint.h>

#include "common/buf.h"

struct spill {
    int fd;         /* while it is open; -1 before */
    size_t most;    /* to hold in memory */
    uint64_t bytes; /* added so far */
    struct buf held;
    const char *data; /* all of them, after spill_finish */
    int mapped;
};

void spill_init(struct spill *s, size_t most);
int spill_add(struct spill *s, const void *bytes, size_t n);
int spill_finish(struct spill *s);     /* nothing may be added any more */
void spill_at_random(struct spill *s); /* finished: reads will jump, so do not read ahead */
void spill_clear(struct spill *s);     /* nothing is left; what is in memory is used again */
void spill_release(struct spill *s);

#endif
