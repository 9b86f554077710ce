/*
 * fit.h - rows of whole documents: best-fit packing for the gpt layout.
 *
 * A row has N + 1 ids: N inputs and N labels, which are the inputs shifted by one. It holds one or
 * more documents, an end-of-text before each of them, and is filled up with end-of-text. So each
 * document begins after an end-of-text, and its end is learnt, too. Only a document of N or more
 * tokens is cut: into rows of an end-of-text and N tokens, and a rest, which is packed like a whole
 * document. Every token is a label exactly once. Rows are chosen by packing.h.
 */
#pragma once

#include "common/base/base.h"

/* Documents and pieces of documents: `tokens` ids from position `at` on. */
struct fit_item {
    size_t at;
    uint32_t tokens;
};

struct fit {
    struct fit_item *items;
    size_t count, cap;
    uint32_t *order, *labels; /* [count] items row by row; labels in a row that each item needs */
    size_t *ends;             /* [rows] the end of each row in `order` */
    size_t order_cap, labels_cap, ends_cap;
    uint64_t cut, filled; /* documents that were cut; labels in all rows, without padding */
};

void fit_clear(struct fit *f);
void fit_release(struct fit *f);

/* Adds a document of n > 0 tokens, which are at position `at` of the caller's ids, for rows of N
 * labels. */
void fit_add(struct fit *f, size_t at, size_t n, uint32_t N);
/* Packs all items and returns the number of rows. */
size_t fit_pack(struct fit *f, uint32_t N);
/* Sets out[N + 1] to row r: `end_of_text`, the row's documents, each with its own end-of-text from
 * the caller's `ids`, and `end_of_text` as padding. */
void fit_row(const struct fit *f, size_t r, const uint32_t *ids, int64_t end_of_text, int64_t *out,
             uint32_t N);
