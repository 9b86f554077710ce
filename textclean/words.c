#include "textclean/words.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/base/utf8.h"
#include "common/base/xxh64.h"
#include "textclean/chunk.h"
#include "unicode/stops.h"
#include "unicode/unicode.h"

enum { FIRST_SLOTS = 1 << 10 };

/* ---- hashes ---------------------------------------------------------------------------------- */

/* Returns the first n bytes of the 8 in x, n > 0; all if n > 8. */
static inline uint64_t first_bytes(uint64_t x, size_t n)
{
    return x & UINT64_MAX >> (64 - 8 * (n < 8 ? n : 8)) % 64;
}

/* The hash of a word of up to 8 bytes; different for all words of one length. */
static inline uint64_t hash_short(uint64_t x, size_t n)
{
    uint64_t h = (x ^ n * XXH64_3) * XXH64_1;
    h = (h ^ h >> 32) * XXH64_2;
    return h ^ h >> 29;
}

/* Reads up to 8 bytes from s on that may lie behind the word. */
static inline uint64_t hash_of(const char *s, size_t n)
{
    return n <= 8 ? hash_short(first_bytes(le_u64((const unsigned char *)s), n), n)
                  : xxh64(s, n, 0);
}

/* ---- chunks with parts of their own ---------------------------------------------------------- */

/* Chunks that are divided in a way of their own, or not at all although marks could be cut off. */
struct special {
    uint64_t hash;
    uint8_t parts[4]; /* bytes of each part; 0: no further one */
};

enum { SPECIAL_SLOTS = 4096, SPECIAL_BITS = 1 << 16, SPECIAL_LONGEST = 20, JOINED_MOST = 5 };

/* Most chunks are no exceptions; one bit for the length and the first 8 bytes says so without a
 * look into the table. */
static inline uint64_t *maybe_special(const struct words *w, const char *s, size_t n, uint64_t *bit)
{
    uint64_t hash = hash_short(first_bytes(le_u64((const unsigned char *)s), n), n);
    *bit = UINT64_C(1) << (hash >> 58);
    return &w->maybe[hash >> 48 & (SPECIAL_BITS / 64 - 1)];
}

/* Returns the exception s[0..n), or NULL if it is none. */
static inline const struct special *special_at(const struct words *w, const char *s, size_t n)
{
    uint64_t bit, hash;
    if (!n || n > SPECIAL_LONGEST || !(*maybe_special(w, s, n, &bit) & bit))
        return NULL;
    hash = hash_of(s, n);
    size_t at = hash % SPECIAL_SLOTS;
    while (w->specials[at].hash && w->specials[at].hash != hash)
        at = (at + 1) % SPECIAL_SLOTS;
    return w->specials[at].hash ? &w->specials[at] : NULL;
}

static void put_special(void *ctx, const char *chunk, const uint8_t parts[4])
{
    struct words *w = ctx;
    char padded[48] = { 0 };
    size_t n = strlen(chunk);
    memcpy(padded, chunk, n);
    uint64_t hash = hash_of(padded, n);
    size_t at = hash % SPECIAL_SLOTS;
    while (w->specials[at].hash && w->specials[at].hash != hash)
        at = (at + 1) % SPECIAL_SLOTS;
    w->specials[at].hash = hash;
    memcpy(w->specials[at].parts, parts, 4);
    uint64_t bit;
    *maybe_special(w, padded, n, &bit) |= bit;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

void words_init(struct words *w)
{
    *w = (struct words){ .slot_count = FIRST_SLOTS };
    w->slots = mem_zalloc(FIRST_SLOTS, sizeof *w->slots);
    w->specials = mem_zalloc(SPECIAL_SLOTS, sizeof *w->specials);
    w->maybe = mem_zalloc(SPECIAL_BITS / 64, sizeof *w->maybe);
    chunk_specials(put_special, w);
}

void words_release(struct words *w)
{
    free(w->list);
    free(w->kinds);
    free(w->slots);
    free(w->specials);
    free(w->maybe);
    free(w->tails);
}

static inline size_t slot_of(const struct words *w, uint64_t hash)
{
    size_t at = hash & (w->slot_count - 1);
    while (w->slots[at].next && w->slots[at].hash != hash)
        at = (at + 1) & (w->slot_count - 1);
    return at;
}

static void clear_kinds(struct words *w)
{
    if (w->kind_count > w->slot_count / 64)
        memset(w->slots, 0, w->slot_count * sizeof *w->slots);
    else /* from the last on, because a search ends at an empty slot */
        for (size_t i = w->kind_count; i--;)
            w->slots[slot_of(w, w->kinds[i].hash)].next = 0;
    w->kind_count = w->count = 0;
}

static void grow_slots(struct words *w)
{
    free(w->slots);
    w->slot_count *= 4;
    w->slots = mem_zalloc(w->slot_count, sizeof *w->slots);
    for (size_t i = 0; i < w->kind_count; i++)
        w->slots[slot_of(w, w->kinds[i].hash)] = (struct word_slot){ w->kinds[i].hash,
                                                                     (uint32_t)i + 1 };
}

static void describe(struct word_kind *k, const char *s, size_t n)
{
    uint32_t flags = WORD_IS_MARKS, chars = 0;
    unsigned c = 0;
    size_t i = n <= 8 && chunk_letters(le_u64((const unsigned char *)s)) >= n ? n : 0;
    if (i) {
        flags = WORD_HAS_LETTER | WORD_HAS_MORE;
        chars = (uint32_t)n;
    }
    for (; i < n; chars++) {
        if (chunk_classes[(unsigned char)s[i]] & CHUNK_LETTER) {
            flags = WORD_HAS_LETTER | WORD_HAS_MORE;
            i++;
            continue;
        }
        i += utf8_read(s + i, n - i, &c);
        enum unicode_category category = (enum unicode_category)unicode_of(c)->category;
        if (category <= UNICODE_LO)
            flags |= WORD_HAS_LETTER | WORD_HAS_MORE;
        else if (!(flags & WORD_HAS_MORE) && !stops_is_mark(c) && !stops_is_end(c))
            flags |= WORD_HAS_MORE;
        if (category < UNICODE_PC || category > UNICODE_PO)
            flags &= ~(uint32_t)WORD_IS_MARKS;
    }
    if (chars == 1 && stops_is_end(c))
        flags |= WORD_ENDS;
    k->flags = flags;
    k->chars = chars;
}

/* Adds the kind of the word s[0..n), whose slot is `at`. Returns its index. */
static uint32_t new_kind(struct words *w, const char *s, size_t n, uint64_t hash, size_t at)
{
    mem_grow(w->kinds, w->kinds_cap, w->kind_count + 1);
    struct word_kind *k = &w->kinds[w->kind_count++];
    *k = (struct word_kind){ .hash = hash };
    describe(k, s, n);
    const struct special *special = special_at(w, s, n);
    if (special && special->parts[1]) {
        k->flags |= WORD_PARTS;
        k->parts = (uint32_t)(special - w->specials);
    }
    w->slots[at] = (struct word_slot){ hash, (uint32_t)w->kind_count };
    if (w->kind_count * 2 > w->slot_count)
        grow_slots(w);
    return (uint32_t)w->kind_count - 1;
}

/* Returns the index of the kind of the word s[0..n). */
static inline uint32_t kind_of(struct words *w, const char *s, size_t n, uint64_t hash)
{
    size_t at = slot_of(w, hash);
    return w->slots[at].next ? w->slots[at].next - 1 : new_kind(w, s, n, hash, at);
}

static inline void add_kind(struct words *w, uint32_t kind, size_t at, size_t n)
{
    mem_grow(w->list, w->cap, w->count + 1);
    w->list[w->count++] = (struct word){ (uint32_t)at, (uint32_t)n, kind };
    w->kinds[kind].count++;
}

static void add_word(struct words *w, const char *text, size_t at, size_t n)
{
    add_kind(w, kind_of(w, text + at, n, hash_of(text + at, n)), at, n);
}

static void add_parts(struct words *w, const char *text, size_t at, const struct special *special)
{
    for (int i = 0; i < 4 && special->parts[i]; i++) {
        add_word(w, text, at, special->parts[i]);
        at += special->parts[i];
    }
}

/* Adds a chunk of letters, or its parts if it has some. */
static inline void add_letters(struct words *w, const char *text, size_t at, size_t n,
                               uint64_t hash)
{
    uint32_t kind = kind_of(w, text + at, n, hash);
    if (w->kinds[kind].flags & WORD_PARTS)
        add_parts(w, text, at, &w->specials[w->kinds[kind].parts]);
    else
        add_kind(w, kind, at, n);
}

/* ---- splitting ------------------------------------------------------------------------------- */

/* Adds the words of text[at..end), which has no marks to cut off at its ends. */
static void add_middle(struct words *w, const char *text, size_t at, size_t end)
{
    const char *s = text + at;
    size_t n = end - at, from = 0;
    const struct special *special = special_at(w, s, n);
    if (special) {
        add_parts(w, text, at, special);
        return;
    }
    if (!n)
        return;
    for (size_t i = 0; i < n && !chunk_is_address(s, n);) {
        size_t infix = chunk_infix(s, n, &i);
        if (!infix)
            break;
        if (i > from)
            add_word(w, text, at + from, i - from);
        if (i) {
            add_word(w, text, at + i, infix);
            from = i + infix;
        }
        i += infix;
    }
    if (from < n)
        add_word(w, text, at + from, n - from);
}

/* Joins words from number `first` on that together are an exception, such as "Va" and ".". */
static void join_specials(struct words *w, const char *text, size_t first)
{
    size_t to = first;
    for (size_t i = first; i < w->count; i++) {
        const struct word *word = &w->list[i];
        const struct special *found = NULL;
        size_t next = i + JOINED_MOST < w->count ? i + JOINED_MOST : w->count;
        for (; next > i + 1 && !found; next -= !found)
            found = special_at(w, text + word->at,
                               w->list[next - 1].at + w->list[next - 1].bytes - word->at);
        if (!found || found->parts[1]) {
            w->list[to++] = *word;
            continue;
        }
        size_t n = found->parts[0];
        struct word joined = { word->at, (uint32_t)n, 0 };
        for (size_t k = i; k < next; k++)
            w->kinds[w->list[k].kind].count--;
        joined.kind = kind_of(w, text + joined.at, n, hash_of(text + joined.at, n));
        w->kinds[joined.kind].count++;
        w->list[to++] = joined;
        i = next - 1;
    }
    w->count = to;
}

/* Adds the words of the chunk text[at..end). */
static void add_chunk(struct words *w, const char *text, size_t at, size_t end)
{
    size_t tails = 0, first = w->count;
    while (at < end && !special_at(w, text + at, end - at)) {
        size_t n = end - at;
        size_t head = chunk_prefix(text + at, n);
        size_t tail = head < n && special_at(w, text + at + head, n - head)
                          ? 0
                          : chunk_suffix(text + at + head, n - head);
        if (!head && !tail)
            break;
        if (tail && special_at(w, text + at, n - tail))
            head = 0;
        if (tail) {
            mem_grow(w->tails, w->tails_cap, tails + 1);
            w->tails[tails++] = (uint32_t)tail;
            end -= tail;
        }
        if (head) {
            add_word(w, text, at, head);
            at += head;
        }
    }
    add_middle(w, text, at, end);
    while (tails) {
        add_word(w, text, end, w->tails[--tails]);
        end += w->tails[tails];
    }
    if (w->count > first + 1)
        join_specials(w, text, first);
}

/* Returns the end of the chunk at text[at]. */
static size_t chunk_end(const char *text, size_t n, size_t at)
{
    while (at < n && !chunk_space(text + at, n - at))
        at++;
    return at;
}

static inline int is_space(const char *text, size_t n, size_t at)
{
    return at >= n || (chunk_classes[(unsigned char)text[at]] & CHUNK_SPACE);
}

/* Returns 1 if the chunk text[at..end] is letters and a mark that comes off, else 0. */
static inline int has_mark(const struct words *w, const char *text, size_t at, size_t end)
{
    return (chunk_classes[(unsigned char)text[end]] & CHUNK_TAIL) ||
           (text[end] == '.' && (chunk_classes[(unsigned char)text[end - 1]] & CHUNK_LOWER) &&
            !special_at(w, text + at, end + 1 - at));
}

/* Adds the chunk at text[at] if it is letters, perhaps with a mark behind, as most are. Returns its
 * end, or `at` if it is another. */
static inline size_t add_plain(struct words *w, const char *text, size_t n, size_t at)
{
    uint64_t first = le_u64((const unsigned char *)text + at);
    size_t letters = chunk_letters(first), all = letters;
    while (letters == 8 && at + all < n) {
        letters = chunk_letters(le_u64((const unsigned char *)text + at + all));
        all += letters;
    }
    if (at + all > n)
        all = n - at;
    if (!all)
        return at;
    size_t end = at + all;
    int mark = !is_space(text, n, end);
    if (mark && (all < 2 || !is_space(text, n, end + 1) || !has_mark(w, text, at, end)))
        return at;
    add_letters(w, text, at, all,
                all <= 8 ? hash_short(first_bytes(first, all), all) : xxh64(text + at, all, 0));
    if (mark)
        add_word(w, text, end, 1);
    return end + (size_t)mark;
}

/* Returns 1 if the chunk s[0..n) is ASCII letters that stay one word. */
static int is_plain(const struct words *w, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(chunk_classes[(unsigned char)s[i]] & CHUNK_LETTER))
            return 0;
    const struct special *special = special_at(w, s, n);
    return n && !(special && special->parts[1]);
}

void words_find_plain(const struct words *w, const char *text, const uint32_t *ends, size_t count,
                      uint8_t *plain)
{
    for (size_t i = 0, at = 0; i < count; at = ends[i++] + 1) {
        /* for nearly all chunks there are no branches that depend on the length */
        size_t n = ends[i] - at, few = n < 8 ? n : 8;
        const unsigned char *s = (const unsigned char *)text + at;
        uint64_t others = chunk_others(le_u64(s)) | chunk_others(le_u64(s + n - few)), bit;
        uint64_t maybe = *maybe_special(w, text + at, n, &bit) & bit;
        plain[i] = !first_bytes(others, few) & (n > 0);
        if (maybe || n > 16)
            plain[i] = (uint8_t)is_plain(w, text + at, n);
    }
}

void words_split(struct words *w, const char *text, size_t n)
{
    clear_kinds(w);
    for (size_t at = 0; at < n;) {
        size_t space = chunk_space(text + at, n - at);
        if (space) {
            at += space;
            continue;
        }
        size_t end = add_plain(w, text, n, at);
        if (end == at) {
            end = chunk_end(text, n, at);
            add_chunk(w, text, at, end);
        }
        at = end;
    }
}

uint32_t words_count(const struct words *w, const char *word)
{
    char padded[16] = { 0 };
    memcpy(padded, word, strlen(word));
    size_t at = slot_of(w, hash_of(padded, strlen(word)));
    return w->slots[at].next ? w->kinds[w->slots[at].next - 1].count : 0;
}

size_t words_sentences(const struct words *w, size_t from, size_t to)
{
    size_t sentences = from < to;
    int ended = 0;
    for (size_t i = from; i < to; i++) {
        uint32_t flags = w->kinds[w->list[i].kind].flags;
        if (flags & WORD_ENDS)
            ended = 1;
        else if (ended && !(flags & WORD_IS_MARKS))
            ended = 0, sentences++;
    }
    return sentences;
}
