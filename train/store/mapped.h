/*
 * mapped.h - arrays in a memory-mapped file, which are in memory only while they are used.
 *
 * The file is in a folder that the user chooses. It has no name there, so it disappears when the
 * process ends, also after a crash. All of its space is reserved at the start. A reader thread
 * reads arrays ahead (mapped_expect). A writer thread writes released arrays to the file and then
 * removes them from memory and from the page cache, unless they are to stay. Dropped arrays are
 * removed without being written. The arrays in memory exceed a budget of bytes only if those in use
 * at one time do. Nothing is read ahead beyond the budget, and a fetch waits until enough released
 * arrays have left memory.
 */
#pragma once

#include "train/store/home.h"

struct mapped;

/* Returns the space in bytes that an array of `bytes` bytes takes in the file and in memory: it is
 * rounded up to whole pages. */
uint64_t mapped_bytes(uint64_t bytes);

/* Makes `count` arrays in a file in folder `dir`; array i has bytes[i] bytes, all zero. Returns
 * NULL with an error. */
struct mapped *mapped_new(const char *dir, const uint64_t *bytes, int count, uint64_t budget_bytes);
void mapped_free(struct mapped *m);

struct home *mapped_home(struct mapped *m); /* NULL for NULL */

/* The operations of that home (home.h); mapped_fetch returns a pointer to memory. */
void *mapped_fetch(struct home *h, int i, enum use_mode use);
void mapped_release(struct home *h, int i, enum use_then then);
void mapped_expect(struct home *h, int i, enum use_mode use);

/* Returns -1 with an error if any write to the file has failed so far, else 0. */
int mapped_check(struct mapped *m);

struct mapped_traffic {
    uint64_t read_bytes, written_bytes;
    double waited_seconds; /* time that fetches waited for the disk */
};
struct mapped_traffic mapped_traffic(struct mapped *m);
