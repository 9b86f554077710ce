/*
 * merge_sets.h - merges several finished data sets into one, or blends them.
 *
 * The records of the new set are the records of the old sets in the order given. Training shuffles
 * by record number only, so the new set gives the same results as the list of the old ones.
 *
 * The new manifest has the lines that all sets have in common, and the sums of their documents,
 * tokens, sequences and records. It also has one line per set, and each distinct pg= line once:
 *
 *     set=documents=52 tokens=5244 records=81
 *
 * So the manifest depends on the content of the sets, not on their paths.
 *
 * The records of a blend are taken from the sets in the order of blend.h; a set that ends begins
 * again. Its manifest has only the sum of the records, and one line per set, in which `taken` is
 * the number of records that the blend took of it:
 *
 *     source=weight=0.7 taken=700 documents=52 tokens=5244 records=81
 *
 * Validation parts are merged, not blended.
 */
#pragma once

#include "tfrecord/formats/blend.h"
#include "tfrecord/publish/shard_folder.h"

struct merge_sets {
    const char *output;     /* a folder, or the prefix of a pair */
    int force;              /* 1: replace a finished set */
    uint32_t shards;        /* most shards of a folder; each has at least one record */
    const char *provenance; /* this program's pg= line */
    int (*may_replace)(const char *path); /* for pairs: see pair_files_open */
    /* for folders: the blend to make of the sets, or NULL. `samples` is its number of records, and
     * taken[i] the number of them that come from set i (blend_count) */
    struct blend *blend;
    uint64_t samples;
    const uint64_t *taken;
};

/* Merges folders of the same layout and recipe, all with or all without a validation part. Returns
 * 0, or -1 with an error that names the set, and the line in which it differs from the first set.
 * Sets *records to the number of records, without those of the validation part. */
int merge_sets_folders(const struct merge_sets *m, char *const *dirs, int count, uint64_t *records);

/* Merges Megatron pairs of the same id type. Pairs made by other programs have no manifest; then
 * the new manifest does not describe the vocabulary. *records is set to the number of sequences.
 * Returns 0, or -1 with an error. */
int merge_sets_pairs(const struct merge_sets *m, char *const *paths, int count, uint64_t *records);
