/*
 * pairs.h - a hash table without collisions that maps pairs of tokens to their merges.
 *
 * Two hashes, s and g, give the place of a pair: slot s + shift[g]. The shifts are chosen group by
 * group so that no two pairs get the same slot (Fox, Heath, Chen, Daoud, "Practical minimal
 * perfect hash functions for large databases", 1992). A look-up reads one shift and one slot and
 * has no branches.
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
    uint32_t id;   /* id of the merged token */
};

struct pairs {
    struct pair *slots; /* an unused slot has rank PAIR_NONE */
    uint16_t *shifts;
    uint64_t seed;
    uint64_t slot_mask;
    int group_shift; /* the group g is the hash shifted right by this */
};

/* Builds the table. The rank of a merge is its index in the list. If a pair occurs twice, the last
 * rank counts. */
void pairs_init(struct pairs *p, const struct bpe_merge *merges, size_t count);
void pairs_release(struct pairs *p);

/* Returns the rank of a pair, PAIR_NONE if it does not merge. Sets *id to the merged token; if the
 * rank is PAIR_NONE, *id has no meaning. */
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
