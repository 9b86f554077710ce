/*
 * pairs.h - which pairs of tokens merge: a table without collisions.
 *
 * A pair has its slot by two hashes, s and g: slot s + shift[g], where the shifts were chosen,
 * group by group, so that no two pairs meet (Fox, Heath, Chen, Daoud, "Practical minimal perfect
 * hash functions for large databases", 1992). A look-up reads one shift and one slot and branches
 * nowhere.
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_PAIRS_H
#define TEXTMILL_TOKENIZER_MODEL_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "tokenizer/model/merge.h"

#define PAIR_NONE UINT32_MAX /* rank of a pair that does not merge; and no token's id */

struct pair {
    uint32_t left, right;
    uint32_t rank; /* lower ones merge first */
    uint32_t id;   /* what they merge to */
};

struct pairs {
    struct pair *slots; /* free ones have rank PAIR_NONE */
    uint16_t *shifts;
    uint64_t seed;
    uint64_t slot_mask;
    int group_shift; /* a group is the hash's bits from this one on */
};

/* The rank of a merge is its place in the list; of the same pair twice, the last. */
void pairs_init(struct pairs *p, const struct bpe_merge *merges, size_t count);
void pairs_release(struct pairs *p);

/* The rank of a pair; *id becomes what it merges to, which says nothing where the rank is
 * PAIR_NONE. */
static inline uint32_t pairs_find(const struct pairs *p, uint32_t left, uint32_t right,
                                  uint32_t *id)
{
    uint64_t hash = ((uint64_t)left << 32 | right) * p->seed;
    uint64_t slot = (hash ^ hash >> 32) + p->shifts[hash >> p->group_shift];
    const struct pair *found = &p->slots[slot & p->slot_mask];
    *id = found->id;
    return found->rank | -(uint32_t)((found->left != left) | (found->right != right));
}

#endif
