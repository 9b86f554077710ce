/*
 * pairs.h - a hash table without collisions that maps pairs of tokens to their merges.
 *
 * A pair's hash differs from that of every other pair. Its high bits select a group, and its low
 * bits plus the group's shift give the slot. The shifts are chosen group by group so that no two
 * pairs get the same slot (Fox, Heath, Chen, Daoud, "Practical minimal perfect hash functions for
 * large databases", 1992). A slot holds the rank and the high bits of the hash. These bits are
 * enough to recognise a pair: two pairs that agree in them are in the same group and have the same
 * shift, so in one slot their low bits agree, too. A look-up reads one shift and one slot of 8
 * bytes and has no branches.
 */
#pragma once

#include "tokenizer/model/merge.h"

#define PAIR_NONE UINT32_MAX /* rank of a pair that does not merge; and no token's id */

struct pairs {
    uint64_t *slots; /* bits of slot_mask: the rank; the bits above: those of the hash. PAIR_UNUSED:
                        no pair */
    uint16_t *shifts;
    uint32_t *ids;  /* by rank: the id of the merged token */
    uint32_t *last; /* by rank: the last of the ranks that are tied with it; NULL: no ties */
    uint64_t seed;
    uint64_t slot_mask; /* greater than every rank */
    int group_shift;    /* the group is the hash shifted right by this */
};

#define PAIR_UNUSED UINT64_MAX

/* Builds the table. The rank of a merge is its index in the list. If a pair occurs twice, the last
 * rank counts. */
void pairs_init(struct pairs *p, const struct bpe_merge *merges, size_t count);
void pairs_release(struct pairs *p);

static inline uint64_t pairs_hash(const struct pairs *p, uint32_t left, uint32_t right)
{
    uint64_t hash = ((uint64_t)left << 32 | right) * p->seed; /* an odd seed */
    return hash ^ hash >> 32;
}

static inline uint64_t pairs_slot(const struct pairs *p, uint64_t hash, uint64_t shift)
{
    return (hash + shift) & p->slot_mask;
}

/* Returns the rank of a pair, PAIR_NONE if it does not merge. */
static inline uint32_t pairs_find(const struct pairs *p, uint32_t left, uint32_t right)
{
    uint64_t hash = pairs_hash(p, left, right);
    uint64_t found = p->slots[pairs_slot(p, hash, p->shifts[hash >> p->group_shift])];
    uint64_t rank = found ^ (hash & ~p->slot_mask);
    return rank < p->slot_mask ? (uint32_t)rank : PAIR_NONE;
}
