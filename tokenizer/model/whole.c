#include "tokenizer/model/whole.h"

#include "tokenizer/model/pairs.h"

/* The merge that makes a token. `turn` is 0 for tokens for which no such merge is known. */
struct making {
    uint32_t left, right;
    uint32_t turn; /* 1 for a byte; r + 2 for the token made by the merge of rank r */
};

enum { BYTE_TURN = 1, FIRST_TURN };

/* Returns 1 if no merge crosses the border between x and y before both are complete, else 0. */
static int border_holds(const struct making *made, const struct pairs *pairs, uint32_t x,
                        uint32_t y)
{
    while (made[x].turn > BYTE_TURN || made[y].turn > BYTE_TURN) {
        int undo_left = made[x].turn >
                        made[y].turn; /* of the same pair twice, the left one came first */
        uint32_t ended = made[undo_left ? x : y].turn - FIRST_TURN;
        if (undo_left)
            x = made[x].right;
        else
            y = made[y].left;
        uint32_t rank = pairs_find(pairs, x, y);
        if (rank < ended || (rank == ended && !undo_left))
            return 0;
    }
    return 1;
}

void whole_mark(uint8_t *whole, size_t ids, const int64_t own_ids[256], const struct pairs *pairs,
                const struct bpe_merge *merges, size_t count)
{
    SCOPED_MEM struct making *made = mem_zalloc(ids, sizeof *made);
    for (int i = 0; i < 256; i++)
        if (own_ids[i] >= 0)
            made[own_ids[i]].turn = BYTE_TURN;
    for (size_t i = 0; i < count && i < PAIR_NONE - FIRST_TURN; i++) {
        const struct bpe_merge *m = &merges[i];
        if (!made[m->id].turn && made[m->left].turn && made[m->right].turn &&
            pairs_find(pairs, m->left, m->right) == i &&
            border_holds(made, pairs, m->left, m->right))
            made[m->id] = (struct making){ m->left, m->right, (uint32_t)i + FIRST_TURN };
    }
    for (size_t id = 0; id < ids; id++)
        whole[id] = made[id].turn != 0;
}
