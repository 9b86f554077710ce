/*
 * merge_sets.h - several finished data sets made into one.
 *
 * Record i of the new set is record i of the old ones, one set after the other in the order given.
 * Reading the new set is therefore the same as reading the list of the old ones: training shuffles
 * by the number of a record alone.
 *
 * The manifest has the lines that all sets have in common; how many documents, tokens, sequences
 * and records there are is added up. It has one line for each set, and those of programs (pg=) once
 * each:
 *
 *     set=documents=52 tokens=5244 records=81
 *
 * So it depends on what is in the sets, not on where they were.
 */
#ifndef TEXTMILL_TFRECORD_PUBLISH_MERGE_SETS_H
#define TEXTMILL_TFRECORD_PUBLISH_MERGE_SETS_H

#include <stdint.h>

#include "tfrecord/publish/shard_folder.h"

struct merge_sets {
    const char *output;                   /* a folder, or the prefix of a pair */
    int force;                            /* replace a finished set */
    uint32_t shards;                      /* of a folder, at most; each has at least one record */
    const char *provenance;               /* of this program */
    int (*may_replace)(const char *path); /* of a pair: see pair_files.h */
    struct shard_watch watch;
    void (*written)(uint64_t records);
};

/* Folders of one layout and one way of making, with or without a validation part. -1 with an error
 * that names the set and the line in which it differs from the first. *records: how many there are,
 * without validation. */
int merge_sets_folders(const struct merge_sets *m, char *const *dirs, int count, uint64_t *records);

/* Megatron pairs of one type of ids. Those of other programs have no manifest: then the new one
 * says nothing of the vocabulary. *records: sequences. */
int merge_sets_pairs(const struct merge_sets *m, char *const *paths, int count, uint64_t *records);

#endif
