/*
 * record_shard.h - one TFRecord file of a data set, with its index beside it unless it is
 * compressed.
 */
#ifndef TEXTMILL_TFRECORD_LAYOUTS_RECORD_SHARD_H
#define TEXTMILL_TFRECORD_LAYOUTS_RECORD_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compress.h"
#include "common/file.h"
#include "tfrecord/formats/manifest.h"
#include "tfrecord/formats/record_file.h"

/* The shards of a data set: where they are, how many, and how they are written. */
struct shard_set {
    const char *dir;
    uint32_t count;
    enum compression compression;
    int resume; /* go on with files that stand in `dir`; leave them there after an error */
};

struct record_shard {
    struct shard data;
    struct output index;       /* not open when compressed */
    struct compress *compress; /* NULL: plain */
    int resume;
    struct record_file old; /* what was there: */
    int whole;              /* a compressed file that is complete; */
    uint64_t kept_bytes;    /* the good records, unpacked, */
    uint64_t compared;      /* and how many bytes of them were put again */
    struct buf frame, packed, line;
};

/* Opens data-<number>-of-<count>.tfrecord in the set's folder. With `resume` the file there may be
 * cut short anywhere: its good records are kept, up to the first bad one. Of a compressed file all
 * are kept, or it is made anew. */
int record_shard_open(struct record_shard *s, const struct shard_set *set, uint32_t number);

/* Puts the next record, or its frame (record.h). Where one is kept it must be the same: -1 if it is
 * not. */
int record_shard_put(struct record_shard *s, const void *message, size_t n);
int record_shard_put_frame(struct record_shard *s, const void *frame, size_t n);

int record_shard_close(struct record_shard *s); /* publishes both within the folder */
void record_shard_release(struct record_shard *s);

#endif
