/*
 * megatron_pair.h - writes a Megatron pair with its manifest and vocabulary. The files appear
 * together when they are complete.
 *
 *     PREFIX.bin, PREFIX.idx      the documents: see megatron.h
 *     PREFIX.tokenizer.json       the vocabulary, if there is one
 *     PREFIX.manifest             written last
 */
#pragma once

#include "tfrecord/layouts/intake.h"
#include "tfrecord/publish/stage.h"

/* ---- the files of any pair ------------------------------------------------------------------- */

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

/* ---- the pair of a token stream -------------------------------------------------------------- */

struct megatron_pair {
    const char *prefix;     /* folder and start of the file names; must not name a folder */
    int append_eod;         /* 1: end each document with end-of-text */
    const char *provenance; /* this program's pg= line for the manifest */
    int (*may_replace)(const char *path); /* see pair_files_open */

    uint64_t sequences; /* result: number of sequences */
};

/* Writes the pair and replaces an existing one. Each sentence is written as a sequence; without
 * sentences, each document is. Returns 0, or -1 with an error; then no files appear. It is also an
 * error if there is no document, or if end-of-text is wanted and the vocabulary has none. */
int megatron_pair_write(struct megatron_pair *p, struct intake *s);
