/*
 * trie.h - finds the longest of some strings with which a text begins.
 *
 * The trie is one array (Aoe's double array): the child of node u by byte c is cells[cells[u].base
 * + c], if the parent of that cell is u. A node's number is the index of its cell.
 */
#pragma once

#include "common/base/base.h"

#define TRIE_NONE UINT32_MAX
enum { TRIE_ROOT = 0 };

struct trie_cell {
    uint32_t base, parent; /* parent TRIE_NONE: free, or the root */
    uint32_t value;        /* of the key that ends here, TRIE_NONE for none */
};

struct trie {
    struct trie_cell *cells;
    size_t count, cap;     /* after the last node there are 256 free cells */
    size_t search_from[2]; /* during construction: where the search for free cells begins, for one
                              child and for several */
};

struct trie_key {
    const char *bytes;
    size_t len; /* not 0 */
    uint32_t value;
};

/* Makes a trie of the keys. Sorts keys[]; they need not be kept. Of equal keys the one with the
 * least value counts. trie_release is allowed on a zeroed struct. */
void trie_init(struct trie *t, struct trie_key *keys, size_t count);
void trie_release(struct trie *t);

/* Returns the child of a node, TRIE_NONE if there is none. */
static inline uint32_t trie_child(const struct trie *t, uint32_t node, unsigned char byte)
{
    uint32_t v = t->cells[node].base + byte;
    return t->cells[v].parent == node && v != TRIE_ROOT ? v : TRIE_NONE;
}

/* Returns the value of the longest key that continues from `node` with the first bytes of
 * text[0..n), and sets *len to their number. Returns TRIE_NONE, and sets *len to 0, if there is
 * none. */
uint32_t trie_longest(const struct trie *t, uint32_t node, const char *text, size_t n, size_t *len);
