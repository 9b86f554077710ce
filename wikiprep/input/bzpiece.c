#include "wikiprep/input/bzpiece.h"

enum {
    PULL = 1 << 18,
    PIECE_MAX = 1 << 22 /* bytes; the longest possible block has 2.3 MB */
};

/* ---- pieces ------------------------------------------------------------------------------- */

static size_t bytes_of(const struct bzpiece *p)
{
    return (size_t)((p->end + 7) / 8 - p->begin / 8);
}

void bzpiece_set_block(struct bzpiece *p, uint64_t begin, uint64_t end)
{
    if (!p->block.bytes)
        p->block.bytes = mem_alloc(BZBLOCK_MAX);
    p->block.packed = p->packed;
    p->block.begin = begin - 8 * bzpiece_offset(p);
    p->block.end = end - 8 * bzpiece_offset(p);
}

/* Writes n bytes into the piece at byte `at`; they become its last bytes. */
static void put(struct bzpiece *p, size_t at, const uint8_t *bytes, size_t n)
{
    mem_grow(p->packed, p->cap, at + n + BZBLOCK_SPARE);
    memcpy(p->packed + at, bytes, n);
    memset(p->packed + at + n, 0, BZBLOCK_SPARE);
    bzpiece_set_block(p, p->begin, p->end);
}

void bzpiece_join(struct bzpiece *p, const struct bzpiece *next)
{
    p->end = next->end;
    put(p, (size_t)(bzpiece_offset(next) - bzpiece_offset(p)), next->packed, bytes_of(next));
}

uint64_t bzpiece_find(const struct bzpiece *p, uint64_t from, uint64_t *magic)
{
    uint64_t origin = 8 * bzpiece_offset(p);
    if (from >= p->end)
        return UINT64_MAX;
    uint64_t found = bzblock_find(p->packed, from - origin, p->end - origin, magic);
    return found == UINT64_MAX ? found : found + origin;
}

void bzpiece_release(struct bzpiece *p)
{
    free(p->packed);
    free(p->block.bytes);
    *p = (struct bzpiece){ 0 };
}

/* ---- cutting ------------------------------------------------------------------------------ */

/* Reads more input after the bytes in c->data. Returns 1, or 0 at the end. A failed read also ends
 * the input; its error is kept in c->error. */
static int pull_more(struct bzcutter *c)
{
    size_t used = (size_t)(c->begin / 8 - c->offset);
    if (used) {
        memmove(c->data, c->data + used, c->len - used);
        c->len -= used;
        c->offset += used;
    }
    mem_grow(c->data, c->cap, c->len + PULL + BZBLOCK_SPARE);
    int64_t got = c->pull(c->ctx, c->data + c->len, PULL);
    if (got <= 0) {
        c->ended = 1;
        if (got < 0)
            c->error = mem_strdup(err_get());
        return 0;
    }
    c->len += (size_t)got;
    memset(c->data + c->len, 0, BZBLOCK_SPARE);
    return 1;
}

/* Returns the bit of the file at which the next marker at or after `from` begins, and sets *kind to
 * its kind. Searches as far as a piece may extend; returns UINT64_MAX if there is none. */
static uint64_t find_magic(struct bzcutter *c, uint64_t from, enum bzpiece_kind *kind)
{
    for (;;) {
        uint64_t origin = 8 * c->offset, end = origin + 8 * (uint64_t)c->len, magic;
        uint64_t found = end > from ? bzblock_find(c->data, from - origin, end - origin, &magic)
                                    : UINT64_MAX;
        if (found != UINT64_MAX) {
            *kind = magic == BZBLOCK_BEGIN ? BZPIECE_BLOCK : BZPIECE_END;
            return found + origin;
        }
        if (end >= from + 48)
            from = end - 47;
        if (end - c->begin >= 8 * (uint64_t)PIECE_MAX || c->ended || !pull_more(c))
            return UINT64_MAX;
    }
}

int bzpiece_cut(struct bzcutter *c, struct bzpiece *p)
{
    enum bzpiece_kind next = BZPIECE_PLAIN;
    uint64_t end = find_magic(c, c->begin + (c->kind != BZPIECE_PLAIN), &next);
    if (end == c->begin) { /* skip an empty plain piece */
        c->kind = next;
        end = find_magic(c, c->begin + 1, &next);
    }
    if (end == UINT64_MAX) {
        next = BZPIECE_PLAIN;
        end = 8 * (c->offset + c->len);
        if (!c->ended) /* the last bits may begin a marker */
            end -= 48;
    }
    if (end == c->begin)
        return 0;
    p->kind = c->kind;
    p->begin = c->begin;
    p->end = end;
    put(p, 0, c->data + (c->begin / 8 - c->offset), bytes_of(p));
    c->begin = end;
    c->kind = next;
    return 1;
}

void bzcutter_release(struct bzcutter *c)
{
    free(c->data);
    free(c->error);
}
