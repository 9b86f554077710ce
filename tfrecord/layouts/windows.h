/*
 * windows.h - the gpt layout: a stream of documents, concatenated and cut into records of equal
 * length.
 *
 * Documents are concatenated, each followed by one end-of-text. With sequence length N and stride
 * S, window i is tokens [i*S, i*S + N + 1): N inputs and N labels, which are the inputs shifted by
 * one. If tokens at the end are labels of no window, they are dropped, or a last window is filled
 * up with end-of-text. A window becomes a tf.Example with the feature input_ids and, if the stream
 * has spans, loss_mask[N + 1]: 1 where the id is a label, 0 where it is none. Record i goes to
 * shard i modulo the number of shards.
 *
 * Documents are processed in groups. In each group, the seed selects the documents that are held
 * out for validation. The other documents are shuffled, and so are the windows that the group
 * completes; a window may begin with tokens of the group before. So memory does not grow with the
 * stream, and records are written before it ends. Each thread processes one group at a time; the
 * output does not depend on the number of threads.
 *
 * With best_fit, the documents of a group are packed into rows instead (fit.h), and no token of a
 * group before is among them. Rows that are not full are padded with end-of-text.
 *
 * With WINDOWS_ALL, all documents form one group. Their tokens are held in a spill
 * (common/files/spill.h) until the stream has ended. Windows are then cut in random order, and each
 * thread cuts some of them.
 */
#pragma once

#include "common/formats/kv.h"
#include "tfrecord/layouts/intake.h"
#include "tfrecord/layouts/record_shard.h"

enum {
    WINDOWS_GROUP = 1 << 20
}; /* tokens of a group: a few megabytes, which fit in the processor's cache */

#define WINDOWS_ALL UINT64_MAX /* value of `group`: all documents of the stream */

struct windows {
    uint32_t sequence_length; /* N */
    uint64_t stride;          /* S */
    int pad;                  /* 1: fill up the last piece */
    int best_fit;             /* 1: rows of whole documents; `stride` is 1 and `pad` is 0 */
    int keep_order;           /* 1: do not shuffle */
    /* documents per group; 0: as many as have WINDOWS_GROUP tokens; or WINDOWS_ALL */
    uint64_t group;
    /* at least this share of the tokens, and at least one record, is held out; 0: none */
    double validation;
    int64_t end_of_text; /* for padding; with IDS_UNCOUNTED if the stream has spans */
    uint64_t seed;
};

/* The two parts of the output: training data, and data held out for validation. */
enum { WINDOWS_TRAIN, WINDOWS_HELD, WINDOWS_PARTS };

struct windows_part {
    const char *dir;                     /* output folder, which must exist */
    uint64_t documents, tokens, records; /* results; tokens include end-of-text */
    uint64_t cut, filled;                /* results with best_fit: see struct fit */
    uint64_t held;                       /* tokens held out; only in the sums of all parts */
    struct kv files;                     /* the shards' lines for the manifest */
};

/* Returns the number of records that `tokens` tokens give. */
uint64_t windows_count(const struct windows *w, uint64_t tokens);

/* Writes data-00000-of-0000N.tfrecord and so on into the folders of the parts (set->dir is not
 * used), each with its index if it is not compressed. Each shard has at least one record. Holds two
 * groups more than threads, with about 12 bytes per token. With WINDOWS_ALL it holds 24 bytes per
 * document and 8 per record, and the spill has 4 bytes per token. Returns 0, or -1 with an error,
 * also if a part has no records and allow_empty is not set. */
int windows_write(const struct windows *w, const struct shard_set *set, struct intake *s,
                  struct windows_part *parts);
