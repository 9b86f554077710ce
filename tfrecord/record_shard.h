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
    int resume; /* go on with plain files that stand in `dir`; leave them there after an error */
};

struct record_shard {
    struct shard data;
    struct output index;       /* not open when compressed */
    struct compress *compress; /* NULL: plain */
    int resume;
    struct file_map old; /* what was there: */
    uint64_t kept_records, kept_bytes; /* its good records, */
    uint64_t compared;                 /* and how many bytes of them were put again */
    struct buf frame, packed, line;
};

/* Opens data-<number>-of-<count>.tfrecord in the set's folder. With `resume` the file there may be
 * cut short anywhere: its good records are kept, up to the first bad one. */
int record_shard_open(struct record_shard *s, const struct shard_set *set, uint32_t number);

/* Puts the next record. Where one is kept it must be the same: -1 if it is not. */
int record_shard_put(struct record_shard *s, const void *message, size_t n);

/* Takes the kept records as they are: how many need not be put again. Before the first put. */
uint64_t record_shard_skip(struct record_shard *s);

int record_shard_close(struct record_shard *s); /* publishes both within the folder */
void record_shard_release(struct record_shard *s);

#endif
