/*
 * corpus.h - documents that do not fit in memory, in another order than they came in.
 *
 * Ids go to a temporary file as they come, 2 or 4 bytes each, and are read back through a map;
 * in memory there are 16 bytes a document. corpus_split deals the documents out into two parts,
 * each a sequence of tokens read by position as if its documents stood end to end.
 */
#ifndef TEXTMILL_CORPUS_H
#define TEXTMILL_CORPUS_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/file.h"

struct corpus_document {
    uint64_t start; /* first token in the file */
    uint64_t end;   /* until the split: one past its last in the file; then: in its part */
};

struct corpus {
    int width;           /* bytes an id */
    struct output spill; /* never published */
    struct file_map map;
    struct corpus_document *documents;
    size_t count, cap;
    uint64_t tokens;
    struct buf bytes;
};

int corpus_open(struct corpus *c, const char *path, int width); /* `path`: for the temporary file */
int corpus_add(struct corpus *c, const uint32_t *ids, size_t n);
int corpus_map(struct corpus *c); /* after the last document, before the split */
void corpus_release(struct corpus *c);

/* Some of the documents, in a new order. */
struct corpus_part {
    const struct corpus *corpus;
    const struct corpus_document *documents;
    size_t count;
    uint64_t tokens;
};

/* Shuffles the documents by `seed`; the first of them that have `share` of the tokens, and at
 * least `least` of them (0: none), become `first`, and the others `second`. With `keep_order` the
 * choice is the same, but within each part the documents stay in the order that they came in. */
void corpus_split(struct corpus *c, uint64_t seed, double share, uint64_t least, int keep_order,
                  struct corpus_part *first, struct corpus_part *second);

/* The documents that have tokens at[0..count) of a part, which must exist. They are looked for together,
 * since a search waits for memory at each step, and what stands there is asked for. */
void corpus_find(const struct corpus_part *p, const uint64_t *at, size_t count, size_t *documents);

/* Tokens [at, at + n) of a part, which must exist; `document` has the first. Both are safe from several
 * threads. */
void corpus_read(const struct corpus_part *p, size_t document, uint64_t at, size_t n, int64_t *ids);

#endif
