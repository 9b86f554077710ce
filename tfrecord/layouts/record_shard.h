/*
 * record_shard.h - writes one TFRecord file of a data set, and its index if it is not compressed.
 */
#pragma once

#include "common/files/compress.h"
#include "common/files/file.h"
#include "tfrecord/formats/manifest.h"
#include "tfrecord/formats/record_file.h"

/* The shards of a data set: their folder, their number, and how they are written. */
struct shard_set {
    const char *dir;
    uint32_t count; /* before the records are counted, the most shards to write */
    enum compression compression;
    int resume;      /* 1: continue with the files in `dir`, and leave them there after an error */
    int allow_empty; /* 1: if there are no records, there are no shards; 0: that is an error */
    int threads;     /* that make records */
};

struct record_shard {
    struct shard data;
    struct output index;       /* not open if compressed */
    struct compress *compress; /* NULL: plain */
    int resume;
    struct record_file old; /* with `resume`: the file of the earlier run */
    int whole;              /* 1: `old` is a complete compressed file */
    uint64_t kept_bytes;    /* bytes of the valid records in `old`, unpacked */
    uint64_t compared;      /* bytes of these that were compared with this run's records */
    struct buf frame, packed, line;
};

/* Opens data-<number>-of-<count>.tfrecord in the set's folder. With `resume`, an existing file may
 * be cut short anywhere: its records up to the first bad one are kept. A compressed file is kept
 * only if it is complete; else it is written again. Returns 0, or -1 with an error. */
int record_shard_open(struct record_shard *s, const struct shard_set *set, uint32_t number);

/* Write the next record: record_shard_put from its data, record_shard_put_frame from its frame
 * (record.h). If the file has a kept record at this position, nothing is written; they return 0, or
 * -1 with an error if the kept record differs. */
int record_shard_put(struct record_shard *s, const void *message, size_t n);
int record_shard_put_frame(struct record_shard *s, const void *frame, size_t n);

/* Publishes the file and its index, and adds its line to the manifest. Returns 0, or -1 with an
 * error. */
int record_shard_close(struct record_shard *s, struct kv *manifest);
void record_shard_release(struct record_shard *s);
