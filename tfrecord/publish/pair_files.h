/*
 * pair_files.h - publishes a Megatron pair with its manifest and vocabulary. The files appear
 * together when they are complete.
 *
 *     PREFIX.bin, PREFIX.idx, PREFIX.tokenizer.json, and last PREFIX.manifest
 */
#pragma once

#include "common/formats/kv.h"
#include "tfrecord/publish/stage.h"

struct pair_files {
    const char *prefix; /* borrowed */
    /* last part of the prefix; the names of the files in the work folder begin with it */
    const char *name;
    struct stage stage; /* stage.work is the folder to write .bin and .idx in; the caller calls
                         * stage_close at the end */
};

/* Opens the work folder of the pair PREFIX. Returns 0, or -1 with an error if the prefix names a
 * folder, or if its folder is not writable. `may_replace` is called for each output file, after
 * other runs have been excluded; it returns 0, or -1 with an error if the file may not be replaced,
 * and then nothing changes. */
int pair_files_open(struct pair_files *p, const char *prefix, int (*may_replace)(const char *path));

/* Writes the vocabulary, if there is one, and the manifest, and publishes all four files. The
 * manifest has the lines of `kv`, then those of `pg`. Returns 0, or -1 with an error. */
int pair_files_publish(struct pair_files *p, struct kv *kv, const struct buf *tokenizer,
                       const struct kv *pg);
