/*
 * pair_files.h - a Megatron pair with its manifest and vocabulary, which appear together when they
 * are complete.
 *
 *     PREFIX.bin, PREFIX.idx, PREFIX.tokenizer.json, and last PREFIX.manifest
 */
#ifndef TEXTMILL_TFRECORD_PUBLISH_PAIR_FILES_H
#define TEXTMILL_TFRECORD_PUBLISH_PAIR_FILES_H

#include "common/buf.h"
#include "common/kv.h"
#include "tfrecord/publish/stage.h"

struct pair_files {
    const char *prefix; /* borrowed */
    const char *name;   /* its last part; the files of the work folder begin with it */
    struct stage stage; /* stage.work is the folder to write the two files in */
};

/* -1: the prefix names a folder, or its folder cannot be written to. `may_replace` is asked for
 * each file, once no other run works there: -1 with an error to leave all as it is. */
int pair_files_open(struct pair_files *p, const char *prefix, int (*may_replace)(const char *path));

/* Writes the vocabulary, if there is one, and the manifest, and publishes all four. The manifest
 * has the lines of `kv`, then of `pg`. */
int pair_files_publish(struct pair_files *p, struct kv *kv, const struct buf *tokenizer,
                       const struct kv *pg);

void pair_files_close(struct pair_files *p, int failed);

#endif
