/*
 * firsts.h - finds, for each key, the first number that was added with it.
 *
 * For a stream the keys are in a table in memory, and the answer is there at once. For input that
 * is read twice they go to parts of temporary files, by their first bits; then each part goes into
 * the table, so that memory does not grow with the number of keys.
 *
 * Clusters are sets of documents that are joined pair by pair (union-find); the document with the
 * smallest number stands for its set, whatever the order of the pairs.
 */
#pragma once

#include "common/base/ids.h"
#include "common/files/spill.h"

/* A hash of a text, or of a part or property of it. Equal keys are taken for equal contents. */
struct key {
    uint64_t high, low;
};

enum { FIRSTS_PARTS = 256 };

struct firsts {
    uint64_t memory; /* bytes */
    struct spill *parts;
    struct key_slot *slots;
    size_t slot_count, used;
};

/* Makes *f empty. twice: 1 if the input is read twice, 0 for a stream. */
void firsts_init(struct firsts *f, uint64_t memory, int twice);
void firsts_release(struct firsts *f);

/* Adds a key with a number, which must not be lower than those before. For a stream: sets *first to
 * the first number with the key, which may be `number` itself. For input that is read twice: only
 * stores both. Returns 0, or -1 with an error if memory or temporary files do not suffice. */
int firsts_add(struct firsts *f, const struct key *key, uint64_t number, uint64_t *first);

/* For a stream: returns 1 and sets *first if the key was added, else 0. */
int firsts_find(const struct firsts *f, const struct key *key, uint64_t *first);

/* For input that is read twice, after the last firsts_add: calls `same` for each number that is not
 * the first with its key. Returns 0, or -1 with an error. */
int firsts_finish(struct firsts *f, void (*same)(void *ctx, uint64_t number, uint64_t first),
                  void *ctx);

/* ---- clusters -------------------------------------------------------------------------------- */

/* parents->data[i] is the parent of document i in its set, and is not greater than i. An empty list
 * has no documents; clusters_add adds sets of one document until there are `count`. */
void clusters_add(struct ids *parents, size_t count);

void clusters_join(struct ids *parents, size_t a, size_t b);

/* Returns the smallest number in the document's set. Does not change the list, so several threads
 * may call it. */
size_t clusters_first(const struct ids *parents, size_t document);
