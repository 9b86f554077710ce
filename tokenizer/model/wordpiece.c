#include "tokenizer/model/wordpiece.h"

#include "common/base/order.h"

#include "tokenizer/model/vocabulary.h"

#define NONE UINT32_MAX

const char wordpiece_prefix[] = "##";
enum { PREFIX_BYTES = WORDPIECE_PREFIX_BYTES, ROOT = 0 };

/* A cell of the trie, which is one array (Aoe's double array). The child of node u by byte c is
 * cells[cells[u].base + c], if the parent of that cell is u. A node's number is the index of its
 * cell. */
struct cell {
    uint32_t base, parent; /* parent NONE: free, or the root */
    uint32_t link;         /* failure link, NONE for none */
    uint32_t pops;         /* index in the pool of the first of the node's failure pops */
    uint32_t pop_count;
    uint32_t id; /* of the token that ends here, NONE for none */
};

struct wordpiece {
    struct cell *cells;
    size_t count, cap;     /* cells; behind the last node there are 256 free ones */
    size_t search_from[2]; /* during construction: where to search for room for one child, for
                              several */
    uint32_t *pool;
    size_t pool_count, pool_cap;
    uint32_t suffix; /* the node of "##" */
    uint32_t unknown;
    size_t max_chars;
};

/* ---- the trie ------------------------------------------------------------------------------- */

static inline uint32_t child(const struct wordpiece *w, uint32_t u, unsigned char byte)
{
    uint32_t v = w->cells[u].base + byte;
    return w->cells[v].parent == u && v != ROOT ? v : NONE;
}

/* A token as a key. Keys are sorted by their bytes, so the tokens below a node are adjacent. */
struct key {
    const unsigned char *bytes;
    uint32_t len, id;
};

static int compare_keys(const void *x, const void *y)
{
    const struct key *a = x, *b = y;
    return order_bytes(a->bytes, a->len, b->bytes, b->len);
}

static void grow_cells(struct wordpiece *w, size_t count)
{
    mem_grow(w->cells, w->cap, count);
    for (; w->count < count; w->count++)
        w->cells[w->count] = (struct cell){ 0, NONE, NONE, 0, 0, NONE };
}

static int is_free(const struct wordpiece *w, size_t cell)
{
    return cell != ROOT && w->cells[cell].parent == NONE;
}

/* Returns the first base whose cells base + bytes[0..count) are all free. After a long search,
 * later searches begin after that crowded region. */
static uint32_t find_base(struct wordpiece *w, const unsigned char *bytes, int count)
{
    enum { LONG_SEARCH = 64 };
    size_t *from = &w->search_from[count > 1];
    size_t base = *from > bytes[0] ? *from - bytes[0] : 1;
    for (int tries = 0;; base++, tries++) {
        int fits = 1;
        grow_cells(w, base + 512);
        for (int i = 0; i < count && fits; i++)
            fits = is_free(w, base + bytes[i]);
        if (fits) {
            if (tries > LONG_SEARCH || count == 1)
                *from = base + bytes[0];
            return (uint32_t)base;
        }
    }
}

/* A node of the trie. Its string is the first `depth` bytes of keys[begin..end). */
struct span {
    uint32_t node, begin, end, depth;
};

/* Makes the children of a node, in order of their bytes, and appends them to the queue. Returns
 * the new length of the queue. */
static size_t make_children(struct wordpiece *w, const struct key *keys, struct span s,
                            struct span *queue, size_t queued)
{
    unsigned char bytes[256];
    uint32_t i = s.begin, first[257];
    int count = 0;
    for (; i < s.end && keys[i].len == s.depth; i++)
        if (keys[i].id != NONE)
            w->cells[s.node].id = keys[i].id;
    for (; i < s.end; i++) {
        unsigned char byte = keys[i].bytes[s.depth];
        if (!count || bytes[count - 1] != byte) {
            bytes[count] = byte;
            first[count++] = i;
        }
    }
    first[count] = s.end;
    if (!count)
        return queued;
    uint32_t base = find_base(w, bytes, count);
    w->cells[s.node].base = base;
    for (int k = 0; k < count; k++) {
        w->cells[base + bytes[k]].parent = s.node;
        queue[queued++] = (struct span){ base + bytes[k], first[k], first[k + 1], s.depth + 1 };
    }
    return queued;
}

static void make_trie(struct wordpiece *w, const struct key *keys, uint32_t count)
{
    size_t queued = 1, bytes = 1;
    for (uint32_t i = 0; i < count; i++)
        bytes += keys[i].len;
    SCOPED_MEM struct span *queue = mem_alloc(bytes * sizeof *queue);
    queue[0] = (struct span){ ROOT, 0, count, 0 };
    grow_cells(w, 512);
    w->search_from[0] = w->search_from[1] = 1;
    for (size_t i = 0; i < queued; i++)
        queued = make_children(w, keys, queue[i], queue, queued);
}

/* ---- failure links and pops ------------------------------------------------------------------ */

static void pop_copy(struct wordpiece *w, uint32_t from)
{
    uint32_t count = w->cells[from].pop_count;
    mem_grow(w->pool, w->pool_cap, w->pool_count + count);
    if (count)
        memcpy(w->pool + w->pool_count, w->pool + w->cells[from].pops, count * sizeof *w->pool);
    w->pool_count += count;
}

/* Computes the link and the pops of node v, the child of u by `byte` (algorithm 2 of the paper). */
static void link_node(struct wordpiece *w, uint32_t u, unsigned char byte, uint32_t v)
{
    struct cell *cell = &w->cells[v];
    cell->pops = (uint32_t)w->pool_count;
    if (cell->id != NONE) {
        mem_next(w->pool, w->pool_count, w->pool_cap) = cell->id;
        cell->link = w->suffix;
    } else {
        uint32_t z = w->cells[u].link, next = NONE;
        pop_copy(w, u);
        for (; z != NONE && (next = child(w, z, byte)) == NONE; z = w->cells[z].link)
            pop_copy(w, z);
        if (z == NONE)
            w->pool_count = cell->pops;
        cell->link = z == NONE ? NONE : next;
    }
    cell->pop_count = (uint32_t)w->pool_count - cell->pops;
}

/* Computes all links, level by level from both roots, because a link leads to a node nearer to its
 * root. */
static void link_nodes(struct wordpiece *w)
{
    SCOPED_MEM uint32_t *queue = mem_alloc(w->count * sizeof *queue);
    size_t queued = 0;
    queue[queued++] = ROOT;
    queue[queued++] = w->suffix;
    for (size_t i = 0; i < queued; i++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            uint32_t v = child(w, queue[i], (unsigned char)byte);
            if (v == NONE || v == w->suffix)
                continue;
            link_node(w, queue[i], (unsigned char)byte, v);
            queue[queued++] = v;
        }
    }
}

struct wordpiece *wordpiece_new(const struct vocabulary *v, uint32_t unknown, size_t max_chars)
{
    struct wordpiece *w = mem_zalloc(1, sizeof *w);
    SCOPED_MEM struct key *keys = mem_alloc((v->count + 1) * sizeof *keys);
    uint32_t count = 0;
    keys[count++] = (struct key){ (const unsigned char *)wordpiece_prefix, PREFIX_BYTES, NONE };
    w->unknown = unknown;
    w->max_chars = max_chars;
    for (uint32_t id = 0; id < v->count; id++) {
        size_t n = 0;
        const char *bytes = vocabulary_bytes(v, id, &n);
        if (bytes && n && v->tokens[id].in_model)
            keys[count++] = (struct key){ (const unsigned char *)bytes, (uint32_t)n, id };
    }
    qsort(keys, count, sizeof *keys, compare_keys);
    make_trie(w, keys, count);
    w->suffix = ROOT;
    for (int i = 0; i < PREFIX_BYTES; i++)
        w->suffix = child(w, w->suffix, (unsigned char)wordpiece_prefix[i]);
    link_nodes(w);
    return w;
}

void wordpiece_free(struct wordpiece *w)
{
    if (!w)
        return;
    free(w->cells);
    free(w->pool);
    free(w);
}

/* ---- matching -------------------------------------------------------------------------------- */

/* Appends the failure pops of node u to `out` and returns its failure link; NONE: the word cannot
 * be cut. */
static inline uint32_t pop(const struct wordpiece *w, uint32_t u, struct ids *out)
{
    const struct cell *cell = &w->cells[u];
    for (uint32_t i = 0; i < cell->pop_count && cell->link != NONE; i++)
        ids_add(out, w->pool[cell->pops + i]);
    return cell->link;
}

static int is_too_long(const struct wordpiece *w, const char *word, size_t n)
{
    size_t chars = 0;
    for (size_t i = 0; i < n && n > w->max_chars && chars <= w->max_chars; i++)
        chars += ((unsigned char)word[i] & 0xC0) != 0x80;
    return chars > w->max_chars;
}

/* Cuts a word piece by piece, each as long as possible, and appends the ids to `out`. Returns 1, or
 * 0 if the word cannot be cut. */
static int match_by_pieces(const struct wordpiece *w, const char *word, size_t n, struct ids *out)
{
    for (size_t at = 0, end; at < n; at = end) {
        uint32_t u = at ? w->suffix : ROOT, id = NONE;
        end = at;
        for (size_t i = at; i < n && (u = child(w, u, (unsigned char)word[i])) != NONE; i++)
            if (w->cells[u].id != NONE) {
                id = w->cells[u].id;
                end = i + 1;
            }
        if (id == NONE)
            return 0;
        ids_add(out, id);
    }
    return 1;
}

/* Cuts a word and appends the ids to `out`. Returns 1, or 0 if the word cannot be cut. A word that
 * begins with "##" is cut by match_by_pieces, because it would bring the automaton to the root of
 * the suffixes although no piece was read. */
static int match(const struct wordpiece *w, const char *word, size_t n, struct ids *out)
{
    uint32_t u = ROOT;
    if (n >= PREFIX_BYTES && !memcmp(word, wordpiece_prefix, PREFIX_BYTES))
        return match_by_pieces(w, word, n, out);
    for (size_t i = 0; i < n; i++) {
        uint32_t next;
        while ((next = child(w, u, (unsigned char)word[i])) == NONE)
            if ((u = pop(w, u, out)) == NONE)
                return 0;
        u = next;
    }
    while (u != w->suffix)
        if ((u = pop(w, u, out)) == NONE)
            return 0;
    return 1;
}

void wordpiece_encode(const struct wordpiece *w, const char *word, size_t n, struct ids *out)
{
    size_t before = out->count;
    if (is_too_long(w, word, n) || !match(w, word, n, out)) {
        out->count = before;
        ids_add(out, w->unknown);
    }
}
