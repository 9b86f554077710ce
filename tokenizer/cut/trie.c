#include "tokenizer/cut/trie.h"

#include "common/base/order.h"

/* Orders keys by their bytes, so that the keys below a node are adjacent, and equal keys by value,
 * the greatest first. */
static int compare_keys(const void *x, const void *y)
{
    const struct trie_key *a = x, *b = y;
    const int order = order_bytes(a->bytes, a->len, b->bytes, b->len);
    return order ? order : (a->value < b->value) - (a->value > b->value);
}

static void grow_cells(struct trie *t, size_t count)
{
    mem_grow(t->cells, t->cap, count);
    for (; t->count < count; t->count++)
        t->cells[t->count] = (struct trie_cell){ 0, TRIE_NONE, TRIE_NONE };
}

static int is_free(const struct trie *t, size_t cell)
{
    return cell != TRIE_ROOT && t->cells[cell].parent == TRIE_NONE;
}

/* Returns the first base whose cells base + bytes[0..count) are all free. After a long search,
 * later searches begin after that crowded region. */
static uint32_t find_base(struct trie *t, const unsigned char *bytes, int count)
{
    enum { LONG_SEARCH = 64 };
    size_t *from = &t->search_from[count > 1];
    size_t base = *from > bytes[0] ? *from - bytes[0] : 1;
    for (int tries = 0;; base++, tries++) {
        int fits = 1;
        grow_cells(t, base + 512);
        for (int i = 0; i < count && fits; i++)
            fits = is_free(t, base + bytes[i]);
        if (fits) {
            if (tries > LONG_SEARCH || count == 1)
                *from = base + bytes[0];
            return (uint32_t)base;
        }
    }
}

/* A node of the trie. Its string is the first `depth` bytes of keys[begin..end). */
struct span {
    uint32_t node, depth;
    size_t begin, end;
};

/* Makes the children of a node, in order of their bytes, and appends them to the queue. Returns
 * the new length of the queue. */
static size_t make_children(struct trie *t, const struct trie_key *keys, struct span s,
                            struct span *queue, size_t queued)
{
    unsigned char bytes[256];
    size_t i = s.begin, first[257];
    int count = 0;
    for (; i < s.end && keys[i].len == s.depth; i++)
        t->cells[s.node].value = keys[i].value;
    for (; i < s.end; i++) {
        unsigned char byte = (unsigned char)keys[i].bytes[s.depth];
        if (!count || bytes[count - 1] != byte) {
            bytes[count] = byte;
            first[count++] = i;
        }
    }
    first[count] = s.end;
    if (!count)
        return queued;
    uint32_t base = find_base(t, bytes, count);
    t->cells[s.node].base = base;
    for (int k = 0; k < count; k++) {
        t->cells[base + bytes[k]].parent = s.node;
        queue[queued++] = (struct span){ base + bytes[k], s.depth + 1, first[k], first[k + 1] };
    }
    return queued;
}

void trie_init(struct trie *t, struct trie_key *keys, size_t count)
{
    size_t queued = 1, bytes = 1;
    for (size_t i = 0; i < count; i++)
        bytes += keys[i].len;
    SCOPED_MEM struct span *queue = mem_alloc(bytes * sizeof *queue);
    *t = (struct trie){ .search_from = { 1, 1 } };
    mem_sort(keys, count, compare_keys);
    queue[0] = (struct span){ TRIE_ROOT, 0, 0, count };
    grow_cells(t, 512);
    for (size_t i = 0; i < queued; i++)
        queued = make_children(t, keys, queue[i], queue, queued);
}

void trie_release(struct trie *t)
{
    free(t->cells);
    *t = (struct trie){ 0 };
}

uint32_t trie_longest(const struct trie *t, uint32_t node, const char *text, size_t n, size_t *len)
{
    uint32_t value = TRIE_NONE;
    *len = 0;
    for (size_t i = 0; i < n; i++) {
        if ((node = trie_child(t, node, (unsigned char)text[i])) == TRIE_NONE)
            break;
        if (t->cells[node].value != TRIE_NONE) {
            value = t->cells[node].value;
            *len = i + 1;
        }
    }
    return value;
}
