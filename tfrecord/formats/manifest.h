/*
 * manifest.h - the manifest: key=value lines that describe the files that a run of tfwrite wrote.
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
 * Version 1 has no crc32c line at its end. It is still read, but no longer written.
 *
 * The file is called `manifest` in a folder of shards and PREFIX.manifest beside a Megatron pair.
 * It is written last: if it exists, the files that it lists are complete.
 */
#pragma once

#include "common/files/file.h"
#include "common/formats/kv.h"

struct manifest_shard {
    char *name; /* file name, in the manifest's folder */
    uint64_t records, bytes;
    uint32_t crc; /* CRC32C of the whole file */
};

struct manifest {
    struct kv kv;                  /* all lines except the first and the checksum */
    struct manifest_shard *shards; /* all listed files */
    struct nameset *places;        /* for the name of each, its index in `shards` */
    size_t count, cap;
    uint64_t records, vocabulary, checksum; /* 0 if missing */
    /* name of the listed file that is the vocabulary's tokenizer.json, or NULL */
    const char *tokenizer;
    char *path; /* of the manifest, by manifest_load_beside */
};

/* Reads the manifest file `path`. Returns 1; 0 if there is no such file; or -1 with an error if it
 * is not a valid manifest. */
int manifest_load(struct manifest *m, const char *path);
/* Reads the file "manifest" beside the file `path`, as manifest_load does. If *m is that manifest,
 * it stays: a set may have tens of thousands of files. Else *m, which may be zero, is released. */
int manifest_load_beside(struct manifest *m, const char *path);
void manifest_release(struct manifest *m);

/* Returns the listed file called `name`, or NULL if there is none. */
const struct manifest_shard *manifest_find(const struct manifest *m, const char *name);

/* Checks that the folder `dir` has every file that the manifest lists, and that the manifest lists
 * every one of `files`, which are names of files in `dir`. Returns 0, or -1 with an error that
 * names a file for which this is not so. */
int manifest_check_names(const struct manifest *m, const char *dir, const struct file_names *files);
/* Checks that the listed files in `dir` have the sizes that the manifest says. Returns 0, or -1
 * with an error. */
int manifest_check_sizes(const struct manifest *m, const char *dir);

/* ---- writing ------------------------------------------------------------------------------ */

/* A file that a manifest will list. Its bytes are counted and its CRC is computed while it is
 * written. */
struct shard {
    struct output out;
    char *name; /* NULL: not open */
    uint64_t records, bytes;
    uint32_t crc;
};

/* shard_open begins the file `name` in the folder `dir`. shard_write adds bytes; the caller counts
 * `records`. shard_close gives the file its name in `dir`. They return 0, or -1 with an error. */
int shard_open(struct shard *s, const char *dir, const char *name);

/* Continues a file of an interrupted run after its first `records` records and `bytes` bytes, whose
 * CRC32C is `crc`. Returns 0, or -1 with an error. */
int shard_resume(struct shard *s, const char *dir, const char *name, uint64_t records,
                 uint64_t bytes, uint32_t crc);

int shard_write(struct shard *s, const void *bytes, size_t n);
int shard_close(struct shard *s);
void shard_release(struct shard *s); /* removes a file that was not closed */

void manifest_add_shard(struct kv *kv, const struct shard *s); /* adds the line of a closed file */
/* Writes `text`, a tokenizer.json, to DIR/NAME and adds it to the manifest. If the text is empty,
 * does nothing. Returns 0, or -1 with an error. */
int manifest_add_tokenizer(struct kv *kv, const char *dir, const char *name,
                           const struct buf *text);

/* Writes the manifest. `kv` has all lines except the first and the last, which are added. Returns
 * 0, or -1 with an error. */
int manifest_write(const struct kv *kv, const char *path);
