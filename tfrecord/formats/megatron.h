/*
 * megatron.h - Megatron-LM's memory-mapped data sets.
 *
 * PREFIX.bin holds token ids back to back; PREFIX.idx says where sequences and documents are:
 *
 *      0  "MMIDIDX" 00 00
 *      9  u64 version, 1
 *     17  u8  dtype: 1 u8, 2 i8, 3 i16, 4 i32, 5 i64, 8 u16 (6 and 7, the floats, are no ids)
 *     18  u64 sequences S
 *     26  u64 entries D of the document index
 *     34  i32 sizes[S]       tokens of each sequence
 *         i64 pointers[S]    byte offset of each in .bin
 *         i64 documents[D]   first sequence of each document; the first entry 0, the last S
 *         i8  modes[S]       multimodal data only
 *
 * Written as Megatron's preprocess_data does, byte for byte: u16 for vocabularies under 65,500
 * ids, else i32; a document is one sequence, or one a sentence; nothing is shuffled.
 */
#ifndef TEXTMILL_TFRECORD_FORMATS_MEGATRON_H
#define TEXTMILL_TFRECORD_FORMATS_MEGATRON_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/file.h"
#include "tfrecord/formats/manifest.h"

/* 1 when `path` names such a pair: PREFIX.idx, PREFIX.bin, or PREFIX where PREFIX.idx exists;
 * `prefix` is replaced. Else 0; -1 when the file system cannot tell. */
int megatron_prefix(struct buf *prefix, const char *path);

/* ---- reading ------------------------------------------------------------------------------ */

struct megatron {
    char *prefix;
    struct file_map idx, bin;
    int dtype, width; /* width in bytes */
    uint64_t sequences, documents, tokens;
    int modes;                                              /* the index has modes */
    const unsigned char *sizes, *pointers, *document_index; /* in idx, not aligned */
};

/* Maps the pair and checks all of the index against .bin: sequences must lie end to end and
 * fill it, documents must follow one another. */
int megatron_open(struct megatron *m, const char *prefix);
void megatron_close(struct megatron *m);

/* The same without .bin: for what only asks where sequences are. */
int megatron_open_index(struct megatron *m, const char *prefix);

/* Tokens of all documents end to end, [first, first + n), which must exist. -1 when an id is
 * negative or over 32 bits. Safe from several threads. */
int megatron_read(const struct megatron *m, uint64_t first, size_t n, uint32_t *ids);

/* Tokens of sequence i and the place of its first. */
uint32_t megatron_sequence(const struct megatron *m, uint64_t i, uint64_t *first);

/* The first sequence of document i; i may be `documents`, where the last one ends. */
uint64_t megatron_document(const struct megatron *m, uint64_t i);

/* ---- writing ------------------------------------------------------------------------------ */

/* Holds 4 bytes a sequence and 8 a document until the end: .idx wants the sizes first. */
struct megatron_writer {
    struct shard bin, idx;
    int dtype, width;
    uint32_t *sizes;
    uint64_t *documents;
    size_t sequences, sizes_cap, count, documents_cap;
    struct buf bytes;
};

/* Writes <name>.bin and <name>.idx in the folder `dir`. */
int megatron_create(struct megatron_writer *w, const char *dir, const char *name,
                    uint64_t vocabulary);
int megatron_add(struct megatron_writer *w, const uint32_t *ids, size_t n); /* one sequence */

/* The same with ids of the type that another pair has; then only megatron_add_raw may add, which
 * takes the bytes of n ids. megatron_check_type: -1 when a pair has another type. */
int megatron_create_as(struct megatron_writer *w, const char *dir, const char *name,
                       const struct megatron *like);
int megatron_check_type(const struct megatron_writer *w, const struct megatron *m);
int megatron_add_raw(struct megatron_writer *w, const void *bytes, size_t n);

void megatron_end_document(struct megatron_writer *w);
int megatron_finish(struct megatron_writer *w); /* writes .idx, publishes both within `dir` */
void megatron_release(struct megatron_writer *w);

#endif
