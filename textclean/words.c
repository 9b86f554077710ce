#include "textclean/words.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/base/le.h"
#include "common/base/simd.h"
#include "common/base/utf8.h"
#include "common/base/xxh64.h"
#include "textclean/chunk.h"
#include "unicode/unicode.h"
#include "unicode/whitespace.h"

/* ---- hashes ---------------------------------------------------------------------------------- */

/* Returns the first n bytes of the 8 in x, n > 0; all if n > 8. */
static inline uint64_t first_bytes(uint64_t x, size_t n)
{
    return x & UINT64_MAX >> (64 - 8 * (n < 8 ? n : 8)) % 64;
}

/* Returns the hash of a word or chunk. 8 bytes must be readable at s, even if it is shorter. */
static inline uint64_t hash_of(const char *s, size_t n)
{
    if (n > 16)
        return xxh64(s, n, 0);
    const size_t few = n < 8 ? n : 8; /* the last bytes */
    uint64_t h = (first_bytes(le_u64((const unsigned char *)s), n) ^ n * XXH64_3) * XXH64_1;
    h = ((h ^ h >> 32) + first_bytes(le_u64((const unsigned char *)s + n - few), few)) * XXH64_2;
    return h ^ h >> 29;
}

/* ---- special chunks: the rules would not find their parts ------------------------------------ */

enum {
    SPECIAL_WORDS = 1 << 10, /* of 64 bits */
    SPECIAL_LONGEST = 20,
    JOINED_MOST = 5,
    PLAIN_MOST = 48
};

/* Returns the element of w->maybe with the bit for the chunk's length and first 8 bytes. Sets *bit
 * to the bit's mask. If the bit is 0, as for most chunks, the chunk is not special. */
static inline uint64_t *maybe_special(const struct words *w, const char *s, size_t n, uint64_t *bit)
{
    uint64_t hash = (first_bytes(le_u64((const unsigned char *)s), n) + n) * XXH64_1;
    *bit = UINT64_C(1) << (hash >> 48 & 63);
    return &w->maybe[hash >> 54];
}

/* Returns the parts of the chunk s[0..n), or NULL if it is not special. */
static inline const uint8_t *special_at(const struct words *w, const char *s, size_t n)
{
    uint64_t bit;
    if (!n || n > SPECIAL_LONGEST || !(*maybe_special(w, s, n, &bit) & bit))
        return NULL;
    return nameset_get(w->specials, s, n);
}

/* Sets the bits of all special chunks. */
static void set_maybe(struct words *w)
{
    w->maybe = mem_zalloc(SPECIAL_WORDS, sizeof *w->maybe);
    for (size_t i = 0; i < nameset_count(w->specials); i++) {
        const char *chunk = nameset_at(w->specials, i);
        char first[8] = { 0 };
        const size_t n = strlen(chunk);
        uint64_t bit;
        memcpy(first, chunk, n < sizeof first ? n : sizeof first);
        *maybe_special(w, first, n, &bit) |= bit;
    }
}

/* ---- what a word is -------------------------------------------------------------------------- */

/* Returns the flags of a word of one character. */
static unsigned describe_one(unsigned c)
{
    enum unicode_category category = (enum unicode_category)unicode_of(c)->category;
    unsigned flags = unicode_is(c, UNICODE_IS_SENTENCE_TERMINAL) ? WORD_ENDS : 0;
    if (category <= UNICODE_LO)
        flags |= WORD_HAS_LETTER;
    if (category <= UNICODE_LO ||
        !unicode_is(c, UNICODE_IS_CCNET_PUNCTUATION | UNICODE_IS_SENTENCE_TERMINAL))
        flags |= WORD_HAS_MORE;
    return flags | (category >= UNICODE_PC && category <= UNICODE_PO ? WORD_IS_MARKS : 0);
}

static void describe(const struct words *w, const char *s, struct word *word)
{
    unsigned all = WORD_IS_MARKS | WORD_ENDS, any = 0, flags, c;
    for (size_t i = 0; i < word->bytes; word->chars++) {
        i += utf8_read(s + i, word->bytes - i, &c);
        flags = c < 0x80 ? w->ascii[c] : describe_one(c);
        all &= word->chars ? flags & WORD_IS_MARKS : flags;
        any |= flags & (WORD_HAS_LETTER | WORD_HAS_MORE);
    }
    word->flags = any | (word->chars > 1 ? all & WORD_IS_MARKS : all);
}

void words_init(struct words *w)
{
    *w = (struct words){ .count = 0 };
    w->specials = chunk_specials();
    set_maybe(w);
    for (unsigned c = 0; c < 0x80; c++)
        w->ascii[c] = (uint8_t)describe_one(c);
}

void words_release(struct words *w)
{
    free(w->list);
    nameset_free(w->specials);
    free(w->maybe);
    free(w->tails);
    free(w->letters);
}

static inline struct word *next_word(struct words *w, const char *text, size_t at, size_t n)
{
    mem_grow(w->list, w->cap, w->count + 1);
    w->list[w->count] = (struct word){ .at = (uint32_t)at, .bytes = (uint32_t)n };
    w->list[w->count].hash = hash_of(text + at, n);
    return &w->list[w->count++];
}

static void add_word(struct words *w, const char *text, size_t at, size_t n)
{
    describe(w, text + at, next_word(w, text, at, n));
}

static void add_parts(struct words *w, const char *text, size_t at, const uint8_t *parts)
{
    for (int i = 0; i < CHUNK_PARTS && parts[i]; i++) {
        add_word(w, text, at, parts[i]);
        at += parts[i];
    }
}

/* ---- splitting ------------------------------------------------------------------------------- */

/* Adds the words of text[at..end), which has no marks to cut off at its ends. */
static void add_middle(struct words *w, const char *text, size_t at, size_t end)
{
    const char *s = text + at;
    size_t n = end - at, from = 0;
    const uint8_t *parts = special_at(w, s, n);
    if (parts) {
        add_parts(w, text, at, parts);
        return;
    }
    if (!n)
        return;
    for (size_t i = chunk_is_address(s, n) ? n : 0; i < n;) {
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
        const uint8_t *found = NULL;
        size_t next = i + JOINED_MOST < w->count ? i + JOINED_MOST : w->count;
        for (; next > i + 1 && !found; next -= !found)
            found = special_at(w, text + word->at,
                               w->list[next - 1].at + w->list[next - 1].bytes - word->at);
        if (!found || found[1]) {
            w->list[to++] = *word;
            continue;
        }
        size_t n = found[0];
        struct word joined = { .at = word->at, .bytes = (uint32_t)n };
        joined.hash = hash_of(text + joined.at, n);
        describe(w, text + joined.at, &joined);
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
            mem_next(w->tails, tails, w->tails_cap) = (uint32_t)tail;
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

/* ---- bits of bytes --------------------------------------------------------------------------- */

/* Returns the bits of text[at] and of the 56 bytes after it. */
static inline uint64_t bits_at(const unsigned char *bits, size_t at)
{
    return le_u64(bits + at / 8) >> at % 8;
}

/* Returns the number of letters of ASCII from text[at] on, up to 56. */
static inline size_t plain_at(const struct words *w, size_t at)
{
    return (size_t)__builtin_ctzll(~bits_at(w->letters, at) | UINT64_C(1) << 56);
}

/* Sets bit i for each s[i], i < 64, that is an ASCII letter, or white space of ASCII. */
static void set_plain(const unsigned char *s, unsigned char *letters, unsigned char *spaces)
{
    uint64_t letter = 0, space = 0;
    for (int i = 0; i < 64; i++) {
        letter |= (uint64_t)((chunk_classes[s[i]] & CHUNK_LETTER) > 0) << i;
        space |= (uint64_t)((chunk_classes[s[i]] & CHUNK_SPACE) > 0) << i;
    }
    le_put_u64(letters, letter);
    le_put_u64(spaces, space);
}

#if defined(__x86_64__)
/* As set_plain, for each block of 64 bytes. Returns the bytes read. */
__attribute__((target("avx512f,avx512bw"))) static size_t set_avx512(const unsigned char *s,
                                                                     size_t n,
                                                                     unsigned char *letters,
                                                                     unsigned char *spaces)
{
    size_t at = 0;
    for (; at + 64 <= n; at += 64) {
        __m512i x = _mm512_loadu_si512(s + at);
        __m512i small = _mm512_or_si512(x, _mm512_set1_epi8(0x20));
        __m512i letter = _mm512_sub_epi8(small, _mm512_set1_epi8('a'));
        __m512i control = _mm512_sub_epi8(x, _mm512_set1_epi8('\t')); /* 9 to 13, 28 to 32 */
        __m512i late = _mm512_sub_epi8(x, _mm512_set1_epi8(0x1C));
        __m512i five = _mm512_set1_epi8(5);
        le_put_u64(letters + at / 8, _mm512_cmplt_epu8_mask(letter, _mm512_set1_epi8(26)));
        le_put_u64(spaces + at / 8,
                   _mm512_cmplt_epu8_mask(control, five) | _mm512_cmplt_epu8_mask(late, five));
    }
    return at;
}
#endif

/* Sets the bits of the text, which must be followed by white space. */
static void set_bits(struct words *w, const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t at = 0, bytes = (n / 64 + 2) * 8;
    mem_grow(w->letters, w->bits_cap, 2 * bytes);
    w->spaces = w->letters + bytes;
#if defined(__x86_64__)
    if (simd_level() >= SIMD_AVX512)
        at = set_avx512(s, n, w->letters, w->spaces);
#endif
    for (; at < bytes * 8; at += 64) {
        unsigned char rest[64];
        memset(rest, ' ', sizeof rest);
        if (at < n)
            memcpy(rest, s + at, n - at < 64 ? n - at : 64);
        set_plain(rest, w->letters + at / 8, w->spaces + at / 8);
    }
}

/* Returns 1 if text[end], which follows the letters text[at..end), is a mark to cut off, else 0. */
static inline int has_mark(const struct words *w, const char *text, size_t at, size_t end)
{
    return (chunk_classes[(unsigned char)text[end]] & CHUNK_TAIL) ||
           (text[end] == '.' && (chunk_classes[(unsigned char)text[end - 1]] & CHUNK_LOWER) &&
            !special_at(w, text + at, end + 1 - at));
}

/* Adds the chunk at text[at] if it consists of letters, perhaps with a mark at the end, as most do.
 * Returns its end, or `at` if it does not. */
static inline size_t add_plain(struct words *w, const char *text, size_t at)
{
    uint64_t spaces = bits_at(w->spaces, at);
    size_t n = plain_at(w, at), end = at + n;
    int mark = !(spaces >> n & 1);
    if (!n || n > PLAIN_MOST ||
        (mark && (n < 2 || !(spaces >> n & 2) || !has_mark(w, text, at, end))))
        return at;
    const uint8_t *parts = special_at(w, text + at, n);
    if (parts) {
        add_parts(w, text, at, parts);
    } else {
        struct word *word = next_word(w, text, at, n);
        word->chars = (uint32_t)n;
        word->flags = WORD_HAS_LETTER | WORD_HAS_MORE;
    }
    if (mark)
        add_word(w, text, end, 1);
    return end + (size_t)mark;
}

void words_split(struct words *w, const char *text, size_t n)
{
    w->count = 0;
    set_bits(w, text, n);
    for (size_t at = 0; at < n;) {
        size_t end = add_plain(w, text, at), space = 1;
        if (end == at && !(space = whitespace_at(text + at, n - at))) {
            end = at + whitespace_word(text + at, n - at);
            add_chunk(w, text, at, end);
        }
        at = end + space; /* one byte of white space follows a word of add_plain */
    }
}

int words_has(const struct words *w, const char *word)
{
    char padded[16] = { 0 };
    memcpy(padded, word, strlen(word));
    uint64_t hash = hash_of(padded, strlen(word));
    size_t i = 0;
    while (i < w->count && w->list[i].hash != hash)
        i++;
    return i < w->count;
}

size_t words_sentence(const struct words *w, size_t from, size_t to)
{
    int ended = 0;
    for (; from < to; from++) {
        uint32_t flags = w->list[from].flags;
        if (flags & WORD_ENDS)
            ended = 1;
        else if (ended && !(flags & WORD_IS_MARKS))
            break;
    }
    return from;
}

size_t words_sentences(const struct words *w, size_t from, size_t to)
{
    size_t sentences = 0;
    for (; from < to; sentences++)
        from = words_sentence(w, from, to);
    return sentences;
}
