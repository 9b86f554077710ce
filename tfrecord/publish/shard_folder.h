/*
 * shard_folder.h - writes a token stream as a folder of shards, which appears when it is complete.
 *
 *     DIR/data-00000-of-00004.tfrecord, .index …  and last DIR/manifest
 *     DIR/tokenizer.json                              the vocabulary, if the stream carries it
 *     DIR/validation/…                            documents held out, in the same form (gpt)
 *
 * An existing finished set is replaced only if `force` is set, and only when the new one is
 * complete. Files that no manifest lists are never changed; their presence is an error. stage.h
 * describes how an interrupted run is resumed. The plan of a run consists of the manifest's lines
 * about the recipe and the stream.
 */
#pragma once

#include "tfrecord/layouts/bert_shards.h"
#include "tfrecord/layouts/intake.h"
#include "tfrecord/layouts/windows.h"
#include "tfrecord/publish/stage.h"

struct shard_folder {
    struct shard_set set;   /* `dir` is the folder; `resume` 1: resume an interrupted run */
    int force;              /* 1: replace a finished set */
    const char *provenance; /* this program's pg= line for the manifest */
};

/* Writes the layout gpt. Sets *all to the sums of the numbers of its parts. Returns 0, or -1 with
 * an error. */
int shard_folder_gpt(const struct shard_folder *f, struct intake *s, const struct windows *w,
                     struct windows_part *all);

/* Writes one of the BERT layouts. The results are in `b`. Returns 0, or -1 with an error. */
int shard_folder_bert(const struct shard_folder *f, struct intake *s, struct bert_shards *b);

/* ---- for others who write such folders (merge_sets.h) ---------------------------------------- */

/* Returns -1 with an error if `dir` holds files that no manifest lists, or a finished set and
 * `force` is 0. Else returns 0. */
int shard_folder_check(const char *dir, int force);

/* Removes the old set from the stage's folder and publishes the new one: first its validation part,
 * if `two` is 1, then the set itself, its manifest last. Returns 0, or -1 with an error. */
int shard_folder_publish(struct stage *stage, int two);
