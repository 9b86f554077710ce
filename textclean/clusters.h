/*
 * clusters.h - sets of documents that are joined pair by pair (union-find); the document with the
 * smallest number stands for its set, whatever the order of the pairs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct clusters {
    uint32_t *parents; /* none is greater than the document's own number */
    size_t count, cap;
};

/* Each begins as a zeroed struct. clusters_add adds documents, each a set of its own, until there
 * are `count`. */
void clusters_add(struct clusters *c, size_t count);
void clusters_release(struct clusters *c);

void clusters_join(struct clusters *c, size_t a, size_t b);

/* Returns the smallest number of the set. It does not change the struct, so that several threads
 * may call it. */
size_t clusters_first(const struct clusters *c, size_t document);
