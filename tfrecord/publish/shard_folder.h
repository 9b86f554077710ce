/*
 * shard_folder.h - a token stream made into a folder of shards, which appears when it is complete.
 *
 *     DIR/data-00000-of-00004.tfrecord, .index …  and last DIR/manifest
 *     DIR/tokenizer.json                              the vocabulary, if the stream carries it
 *     DIR/validation/…                            documents held out, in the same form (gpt)
 *
 * A finished set is replaced only where that is asked for, and when the new one is complete; files
 * that no manifest lists are never touched, and refused. How a run that is killed can be gone on
 * with is in stage.h: its plan is what the manifest says of how the data is made, and of what
 * stream.
 */
#ifndef TEXTMILL_TFRECORD_PUBLISH_SHARD_FOLDER_H
#define TEXTMILL_TFRECORD_PUBLISH_SHARD_FOLDER_H

#include <stdint.h>

#include "tfrecord/layouts/bert_shards.h"
#include "tfrecord/layouts/intake.h"
#include "tfrecord/layouts/windows.h"
#include "tfrecord/publish/stage.h"

/* Told when the writing of records begins and ends; how far it is the layouts tell. */
struct shard_watch {
    void (*begin)(const char *unit, uint64_t total);
    void (*end)(void);
};

struct shard_folder {
    const char *dir;
    int force;              /* replace a finished set */
    int resume;             /* go on with an interrupted run */
    const char *provenance; /* of this program, for the manifest */
    struct shard_watch watch;
};

/* The layout gpt. Returns how many records there are in *records. */
int shard_folder_gpt(const struct shard_folder *f, struct intake *s, const struct windows *w,
                     uint64_t *records);

/* The layouts of BERT; `b` has the results. */
int shard_folder_bert(const struct shard_folder *f, struct intake *s, struct bert_shards *b);

/* ---- for others who write such folders (merge_sets.h) -------------------------------------------- */

/* -1: `dir` holds a finished set and `force` is not given, or files that no manifest lists. */
int shard_folder_check(const char *dir, int force);

/* Removes the old set of the stage's folder, and publishes the new one: its validation part, if
 * `two`, and then the set itself. */
int shard_folder_publish(struct stage *stage, int two);

#endif
