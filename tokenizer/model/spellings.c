#include "tokenizer/model/spellings.h"

enum { BLOCK = 4096 }; /* tokens for whose short texts memory is reserved at a time */

/* The text of an entry with SPELLING_LONG: the place in `longer`, then the length. */
enum { PLACE = sizeof(uint64_t), LENGTH = sizeof(uint32_t) };

void spellings_init(struct spellings *s, size_t count)
{
    *s = (struct spellings){ .count = count, .longer = BUF_INIT };
    s->items = mem_huge(count + 1, sizeof *s->items);
    memset(s->items, 0, (count + 1) * sizeof *s->items);
}

void spellings_release(struct spellings *s)
{
    free(s->items);
    buf_release(&s->longer);
}

int spellings_set(struct spellings *s, size_t id, const char *text, size_t n)
{
    struct spelling *item = &s->items[id];
    if (n <= SPELLING_SHORT) {
        memcpy(item->text, text, n);
        item->len = (uint8_t)n;
        return 0;
    }
    if (n > UINT32_MAX)
        return -1;
    const uint64_t at = s->longer.len;
    const uint32_t len = (uint32_t)n;
    memcpy(item->text, &at, PLACE);
    memcpy(item->text + PLACE, &len, LENGTH);
    item->len = SPELLING_LONG;
    buf_add(&s->longer, text, n);
    return 0;
}

const char *spellings_get(const struct spellings *s, uint32_t id, size_t *n)
{
    const struct spelling *item = &s->items[id];
    uint64_t at;
    uint32_t len;
    *n = item->len == SPELLING_BYTE ? 1 : item->len;
    if (item->len != SPELLING_LONG)
        return item->len == SPELLING_HOLE ? NULL : item->text;
    memcpy(&at, item->text, PLACE);
    memcpy(&len, item->text + PLACE, LENGTH);
    *n = len;
    return s->longer.data + at;
}

/* Returns 1 if ids[i] is a byte token for an ASCII character and the next id has a text, else 0. If
 * no byte token precedes it, either, such a byte is a text of its own. */
static int is_ascii_alone(const struct spellings *s, const uint32_t *ids, size_t i, size_t n)
{
    const struct spelling *item = &s->items[ids[i]];
    return item->len == SPELLING_BYTE && (unsigned char)item->text[0] < 0x80 && i + 1 < n &&
           ids[i + 1] < s->count && s->items[ids[i + 1]].len <= SPELLING_LONG;
}

/* Appends the texts of ids[0..n), n <= BLOCK, up to the first id that has no short text and is no
 * ASCII byte between texts. No byte token precedes them. Returns the number of ids before it. */
static size_t put_short(const struct spellings *s, const uint32_t *ids, size_t n, struct buf *out)
{
    size_t i = 0;
    buf_reserve(out, (n + 1) * sizeof(struct spelling));
    char *to = out->data + out->len;
    for (; i < n && ids[i] < s->count; i++) {
        const struct spelling *item = &s->items[ids[i]];
        memcpy(to, item, sizeof *item); /* what is too much will be overwritten */
        if (item->len <= SPELLING_SHORT)
            to += item->len;
        else if (is_ascii_alone(s, ids, i, n))
            to++;
        else
            break;
    }
    buf_truncate(out, (size_t)(to - out->data));
    return i;
}

size_t spellings_put(const struct spellings *s, const uint32_t *ids, size_t n, struct buf *out)
{
    size_t i = 0;
    while (i < n) {
        const size_t block = n - i < BLOCK ? n - i : BLOCK, got = put_short(s, ids + i, block, out);
        i += got;
        if (got == block)
            continue;
        if (ids[i] >= s->count || s->items[ids[i]].len != SPELLING_LONG)
            break;
        size_t width;
        const char *text = spellings_get(s, ids[i++], &width);
        buf_add(out, text, width);
    }
    return i;
}
