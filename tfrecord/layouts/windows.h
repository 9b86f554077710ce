/*
 * windows.h - the gpt layout: a stream of documents cut into records of equal length, as it comes.
 *
 * Documents stand end to end, one end-of-text after each. With sequence length N and stride S,
 * window i is tokens [i*S, i*S + N + 1): N to read and, one to the right, N to predict. A last
 * piece shorter than N + 1 that holds labels which no window has is dropped, or filled up with
 * end-of-text. A window becomes a tf.Example with the feature input_ids; record i goes to shard i
 * modulo the number of shards.
 *
 * Documents are taken in groups. Of each the seed chooses those that are held out, and shuffles
 * the others and then the windows that they complete, which may begin with tokens of the group
 * before. So memory does not grow with the stream, and records are written while it still comes.
 * Threads take a group each; the bytes do not depend on them.
 *
 * Or all documents are one group, WINDOWS_ALL: their tokens wait in a spill (common/spill.h) until
 * the stream has ended. Windows are then cut in random order, and threads take some of them each.
 */
#ifndef TEXTMILL_TFRECORD_LAYOUTS_WINDOWS_H
#define TEXTMILL_TFRECORD_LAYOUTS_WINDOWS_H

#include <stdint.h>

#include "common/compress.h"
#include "common/kv.h"
#include "tfrecord/layouts/intake.h"

enum { WINDOWS_GROUP = 1 << 20 }; /* tokens: a few megabytes, which stay in the processor's cache */

#define WINDOWS_ALL UINT64_MAX /* documents of a group: all of the stream */

struct windows {
    uint32_t sequence_length; /* N */
    uint64_t stride;          /* S */
    int pad;                  /* fill up the last piece */
    int keep_order;           /* no shuffle */
    uint64_t group;           /* documents; 0: those of WINDOWS_GROUP tokens; or WINDOWS_ALL */
    double validation; /* at least this share of the tokens is held out, and a record; 0: none */
    int64_t end_of_text;
    uint64_t seed;
    uint32_t shards; /* at most; each has at least one record */
    enum compression compression;
    int allow_empty; /* a part may have no record, and then no shard */
    int resume; /* go on with shards that are in the folders: what is there is held to this run */
    int threads;
    void (*written)(uint64_t records); /* told now and then, by one thread at a time */
};

/* What is made of the documents: those to train with, and those that are held out. */
enum { WINDOWS_TRAIN, WINDOWS_HELD, WINDOWS_PARTS };

struct windows_part {
    const char *dir;                     /* exists */
    uint64_t documents, tokens, records; /* the result: end-of-text counts */
    struct kv files;                     /* lines of the shards, for the manifest */
};

/* Records that so many tokens give. */
uint64_t windows_count(const struct windows *w, uint64_t tokens);

/* Writes data-00000-of-0000N.tfrecord and so on, an index beside each that is not compressed, into
 * the folders of the parts. Holds about 12 bytes a token of a group, for each thread and two more.
 * With WINDOWS_ALL it holds 24 bytes a document and 8 a record, and the spill has 4 bytes a token.
 * -1 also when a part has no record, unless that is allowed. */
int windows_write(const struct windows *w, struct intake *s, struct windows_part *parts);

#endif
