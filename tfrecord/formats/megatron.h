/*
 * megatron.h - Megatron-LM's memory-mapped data sets.
 *
 * PREFIX.bin holds consecutive token ids. PREFIX.idx holds the positions of sequences and
 * documents:
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
 * Files are written exactly as Megatron's preprocess_data writes them: u16 for vocabularies under
 * 65,500 ids, else i32; a document is one sequence, or one sequence per sentence; nothing is
 * shuffled.
 */
#pragma once

#include "common/files/file.h"
#include "tfrecord/formats/manifest.h"

/* Returns 1 and sets `prefix` if `path` names a Megatron pair: PREFIX.idx, PREFIX.bin, or PREFIX
 * where PREFIX.idx exists. Returns 0 if not, or -1 with an error if the file system reports one. */
int megatron_prefix(struct buf *prefix, const char *path);

/* ---- reading ------------------------------------------------------------------------------ */

struct megatron {
    char *prefix;
    struct file_map idx, bin;
    int dtype, width; /* width: bytes per id */
    uint64_t sequences, documents, tokens;
    int modes;                                              /* 1: the index has modes */
    const unsigned char *sizes, *pointers, *document_index; /* arrays in idx, not aligned */
};

/* Maps the pair and checks the whole index against .bin: the sequences must be consecutive and fill
 * .bin, and the documents must be in ascending order. Returns 0, or -1 with an error. */
int megatron_open(struct megatron *m, const char *prefix);
void megatron_close(struct megatron *m);

/* Opens only .idx; for callers that need the positions of sequences and not their tokens. Returns
 * 0, or -1 with an error. */
int megatron_open_index(struct megatron *m, const char *prefix);

/* Reads n tokens from token `first` on, counted over all documents joined; they must exist. Returns
 * 0, or -1 with an error if an id is negative or needs more than 32 bits. Several threads may call
 * it at once. */
int megatron_read(const struct megatron *m, uint64_t first, size_t n, uint32_t *ids);

/* Returns the number of tokens of sequence i and sets *first to the position of its first token. */
uint32_t megatron_sequence(const struct megatron *m, uint64_t i, uint64_t *first);

/* Returns the first sequence of document i. For i = `documents`, returns the end of the last
 * document. */
uint64_t megatron_document(const struct megatron *m, uint64_t i);

/* ---- writing ------------------------------------------------------------------------------ */

/* A writer. It holds 4 bytes per sequence and 8 per document in memory until the end, because .idx
 * begins with the sizes. */
struct megatron_writer {
    struct shard bin, idx;
    int dtype, width;
    uint32_t *sizes;
    uint64_t *documents;
    size_t sequences, sizes_cap, count, documents_cap;
    struct buf bytes;
};

/* Begins to write <name>.bin and <name>.idx in the folder `dir`. vocabulary: the number of
 * different ids, which decides between ids of 16 and of 32 bits. Returns 0, or -1 with an error. */
int megatron_create(struct megatron_writer *w, const char *dir, const char *name,
                    uint64_t vocabulary);

/* Writes a sequence of n token ids. Returns 0, or -1 with an error. */
int megatron_add(struct megatron_writer *w, const uint32_t *ids, size_t n);

/* megatron_create_as creates a pair with the id type of the pair `like`. Sequences may be added to
 * it only with megatron_add_raw, which takes the bytes of n ids. megatron_check_type checks that
 * the pair m has this id type. They return 0, or -1 with an error. */
int megatron_create_as(struct megatron_writer *w, const char *dir, const char *name,
                       const struct megatron *like);
int megatron_check_type(const struct megatron_writer *w, const struct megatron *m);
int megatron_add_raw(struct megatron_writer *w, const void *bytes, size_t n);

/* Ends a document: it has the sequences added since the last one ended. */
void megatron_end_document(struct megatron_writer *w);

/* Writes .idx and publishes both files in `dir`. Returns 0, or -1 with an error. */
int megatron_finish(struct megatron_writer *w);
void megatron_release(struct megatron_writer *w); /* removes files that were not published */
