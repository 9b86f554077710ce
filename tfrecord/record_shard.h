/*
 * record_shard.h - one TFRecord file of a data set, with its index beside it.
 */
#ifndef TEXTMILL_RECORD_SHARD_H
#define TEXTMILL_RECORD_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/file.h"
#include "tfrecord/manifest.h"

struct record_shard {
    struct shard data;
    struct output index;
    struct buf frame, line;
};

/* Opens data-<number>-of-<all>.tfrecord in `dir`. */
int record_shard_open(struct record_shard *s, const char *dir, uint32_t number, uint32_t all);
int record_shard_put(struct record_shard *s, const void *message, size_t n);
int record_shard_close(struct record_shard *s); /* publishes both within `dir` */
void record_shard_release(struct record_shard *s);

#endif
