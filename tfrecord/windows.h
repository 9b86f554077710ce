/*
 * windows.h - the gpt layout: a part of a corpus cut into records of equal length.
 *
 * With sequence length N and stride S, window i is tokens [i*S, i*S + N + 1): N to read and, one
 * to the right, N to predict. Windows are shuffled by the seed and dealt out over the shards in
 * ranges whose sizes differ by at most one; each becomes a tf.Example with the feature
 * input_ids. A last piece shorter than N + 1 that holds labels which no window has is dropped,
 * or filled up with end-of-text.
 */
#ifndef TEXTMILL_WINDOWS_H
#define TEXTMILL_WINDOWS_H

#include <stdint.h>

#include "common/kv.h"
#include "tfrecord/compress.h"
#include "tfrecord/corpus.h"

struct windows {
    uint32_t sequence_length; /* N */
    uint64_t stride;          /* S */
    int pad;                  /* fill up the last piece */
    int keep_order;           /* no shuffle */
    int64_t end_of_text;
    uint64_t seed;
    uint32_t shards; /* at most; each has at least one record */
    enum compression compression;
    int resume; /* go on with shards that are in the folder: those of the same windows */
    int threads;
    void (*written)(uint64_t records); /* told now and then, by the calling thread */
};

/* Records that a part gives. */
uint64_t windows_count(const struct windows *w, const struct corpus_part *p);

/* Writes data-00000-of-0000N.tfrecord and so on, an index beside each that is not compressed, into
 * `dir`, and adds the shards to the manifest. Holds 8 bytes a window. The bytes do not depend on
 * `threads`. */
int windows_write(const struct windows *w, const struct corpus_part *p, const char *dir,
                  struct kv *manifest);

#endif
