/*
 * record_shard.h - one TFRecord file of a data set, with its index beside it unless it is compressed.
 */
#ifndef TEXTMILL_RECORD_SHARD_H
#define TEXTMILL_RECORD_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/file.h"
#include "tfrecord/compress.h"
#include "tfrecord/manifest.h"

/* The shards of a data set: where they are, how many, and how they are written. */
struct shard_set {
    const char *dir;
    uint32_t count;
    enum compression compression;
};

struct record_shard {
    struct shard data;
    struct output index;       /* not open when compressed */
    struct compress *compress; /* NULL: plain */
    struct buf frame, packed, line;
};

/* Opens data-<number>-of-<count>.tfrecord in the set's folder. */
int record_shard_open(struct record_shard *s, const struct shard_set *set, uint32_t number);
int record_shard_put(struct record_shard *s, const void *message, size_t n);
int record_shard_close(struct record_shard *s); /* publishes both within the folder */
void record_shard_release(struct record_shard *s);

#endif
