/*
 * manifest.h - what a run of tfwrite wrote: key=value lines beside the files.
 *
 *     textmill=shards 2
 *     layout=gpt
 *     sequence_length=1024
 *     records=5120                in all files
 *     tokens=5244013              of the documents joined, end-of-text included
 *     vocabulary=50257
 *     checksum=9f0c…              of the vocabulary, in hex
 *     end_of_text=50256
 *     shard=data-00000-of-00004.tfrecord records=1280 bytes=2666112 crc32c=1c291ca3
 *     tokenizer=tokenizer.json records=0 bytes=98231 crc32c=…   the vocabulary; may be absent
 *     pg=tokenize …               one line a tool, in the order they ran
 *     crc32c=77a1e0f2             of all lines above
 *
 * Version 1 has no such last line; it is read, and no longer written.
 *
 * It is called `manifest` in a folder of shards and PREFIX.manifest beside a Megatron pair. It
 * appears last: where it stands, the files that it lists are complete.
 */
#ifndef TEXTMILL_TFRECORD_FORMATS_MANIFEST_H
#define TEXTMILL_TFRECORD_FORMATS_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/file.h"
#include "common/kv.h"

struct manifest_shard {
    char *name; /* in the manifest's folder */
    uint64_t records, bytes;
    uint32_t crc; /* CRC32C of the whole file */
};

struct manifest {
    struct kv kv;                  /* all lines but the first and the checksum */
    struct manifest_shard *shards; /* all files that are listed */
    size_t count, cap;
    uint64_t records, vocabulary, checksum; /* 0 when not said */
    const char *tokenizer; /* name of the shard that is the vocabulary's tokenizer.json; or NULL */
};

/* 1, 0 when there is no such file, -1 when it is no manifest. */
int manifest_load(struct manifest *m, const char *path);
void manifest_release(struct manifest *m);
/* The file NAME beside `path`, in the same folder; replaces out. */
void manifest_file(struct buf *out, const char *path, const char *name);

const struct manifest_shard *manifest_find(const struct manifest *m, const char *name);

/* Whether the folder `dir` has each file that is listed, and each of `files`, names of files in it,
 * is listed. */
int manifest_check_names(const struct manifest *m, const char *dir, const struct file_names *files);

/* ---- writing ------------------------------------------------------------------------------ */

/* A file that a manifest will list: counted and summed while it is written. */
struct shard {
    struct output out;
    char *name; /* NULL: not open */
    uint64_t records, bytes;
    uint32_t crc;
};

int shard_open(struct shard *s, const char *dir, const char *name);

/* Goes on with a file of an interrupted run, after so many records and bytes with this CRC32C. */
int shard_resume(struct shard *s, const char *dir, const char *name, uint64_t records,
                 uint64_t bytes, uint32_t crc);

int shard_write(struct shard *s, const void *bytes, size_t n); /* records are the caller's count */
int shard_close(struct shard *s);                              /* publishes within `dir` */
void shard_release(struct shard *s);                           /* drops what is not closed */

void manifest_add_shard(struct kv *kv, const struct shard *s);

/* Writes DIR/NAME, the text of a tokenizer.json, and lists it; an empty text is none. */
int manifest_add_tokenizer(struct kv *kv, const char *dir, const char *name,
                           const struct buf *text);

/* `kv` is all lines but the first and the last, which are put about them. */
int manifest_write(const struct kv *kv, const char *path);

#endif
