/*
 * mapped.h - arrays in a memory-mapped file: in memory while they are used, else on the disk.
 *
 * The file lies in a folder of the user's choice, has no name there (it goes with the process,
 * however that ends), and all of its room is reserved at the start. An array that is expected is
 * read by a thread meanwhile; one that is released is written by another and then leaves memory
 * and the page cache, unless it is to stay; what is dropped leaves without being written.
 * What is resident stays within a budget, if what is used at once does: nothing is read ahead
 * beyond it, and who fetches waits for what is leaving.
 */
#ifndef TEXTMILL_TRAIN_MAPPED_H
#define TEXTMILL_TRAIN_MAPPED_H

#include <stdint.h>

/* To read; to change; to make anew: what the array held may be lost, and is zero then. */
enum mapped_use { MAPPED_READ, MAPPED_WRITE, MAPPED_MAKE };

/* At the last release: it leaves memory; it stays, since a fetch follows soon; or its numbers are
 * of no use any more, and it leaves without being written: the next fetch makes it. */
enum mapped_then { MAPPED_LEAVES, MAPPED_STAYS, MAPPED_DROPPED };

struct mapped;

/* What an array takes in the file, and in memory while it is there: whole pages. */
uint64_t mapped_bytes(uint64_t bytes);

/* `count` arrays of so many bytes, zero, in a file in folder `dir`. NULL with an error. */
struct mapped *mapped_new(const char *dir, const uint64_t *bytes, int count, uint64_t budget_bytes);
void mapped_free(struct mapped *m);

/* Array i in memory, until as many releases. With MAPPED_READ nobody writes into it. */
void *mapped_fetch(struct mapped *m, int i, enum mapped_use use);
void mapped_release(struct mapped *m, int i, enum mapped_then then);

/* A fetch will follow: reads ahead, where the budget has room, and keeps what is leaving. */
void mapped_expect(struct mapped *m, int i, enum mapped_use use);

/* Where array i is. Without a fetch pages come when they are touched, outside the budget, and
 * stay until its next release. */
void *mapped_data(const struct mapped *m, int i);

/* -1 with an error when something could not be written so far. */
int mapped_check(struct mapped *m);

struct mapped_traffic {
    uint64_t read_bytes, written_bytes;
    double waited_seconds; /* of fetches, for the disk */
};
struct mapped_traffic mapped_traffic(struct mapped *m);

#endif
