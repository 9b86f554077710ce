#include "tokenizer/model/added.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/base/simd.h"
#include "common/base/utf8.h"
#include "unicode/unicode.h"

void added_put(struct added_set *s, const struct added_token *token, const char *text, size_t n)
{
    if (!n)
        return;
    s->all_special = (s->count == 0 || s->all_special) && token->special;
    mem_next(s->items, s->count, s->cap) = (struct added_item){ *token, mem_strndup(text, n), n };
}

static void put_pair(struct added_set *s, unsigned first, unsigned second)
{
    unsigned pair = first << 8 | second;
    s->pairs[pair >> 6] |= (uint64_t)1 << (pair & 63);
}

void added_finish(struct added_set *s)
{
    SCOPED_MEM struct trie_key *keys = mem_alloc((s->count + 1) * sizeof *keys);
    int absorbs = 0, blank = 0;
    size_t len;
    for (size_t i = 0; i < s->count; i++) {
        const unsigned char *text = (const unsigned char *)s->items[i].text;
        keys[i] = (struct trie_key){ s->items[i].text, s->items[i].len, (uint32_t)i };
        s->first[text[0]] = 1;
        absorbs |= s->items[i].token.rstrip;
        blank |= unicode_is(utf8_get(text, &len), UNICODE_IS_SPACE);
        for (unsigned second = 0; second < 256; second++)
            if (s->items[i].len == 1 || text[1] == second)
                put_pair(s, text[0], second);
    }
    s->overlap = absorbs && blank;
    trie_init(&s->trie, keys, s->count);
}

void added_release(struct added_set *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->items[i].text);
    free(s->items);
    trie_release(&s->trie);
    *s = (struct added_set){ 0 };
}

static int may_begin(const struct added_set *s, const unsigned char *p, size_t n)
{
    unsigned pair = n > 1 ? (unsigned)p[0] << 8 | p[1] : 0;
    return n > 1 ? s->pairs[pair >> 6] >> (pair & 63) & 1 : s->first[p[0]];
}

static size_t skip_plain(const struct added_set *s, const unsigned char *p, size_t n)
{
    size_t i = 0;
    while (i < n && !(s->first[p[i]] && may_begin(s, p + i, n - i)))
        i++;
    return i;
}

#if defined(__x86_64__)
/* The AVX-512 version of skip, which tests 64 bytes at a time. */
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) static size_t skip_avx512(
    const struct added_set *s, const unsigned char *p, size_t n)
{
    const __m512i a = _mm512_loadu_si512(s->first), b = _mm512_loadu_si512(s->first + 64);
    const __m512i c = _mm512_loadu_si512(s->first + 128), d = _mm512_loadu_si512(s->first + 192);
    size_t i = 0;
    for (; n - i > 64; i += 64) {
        __m512i bytes = _mm512_loadu_si512(p + i);
        __m512i low = _mm512_permutex2var_epi8(a, bytes, b);
        __m512i high = _mm512_permutex2var_epi8(c, bytes, d);
        __m512i first = _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), low, high);
        for (uint64_t bits = _mm512_test_epi8_mask(first, first); bits; bits &= bits - 1) {
            size_t at = i + (size_t)__builtin_ctzll(bits);
            if (may_begin(s, p + at, n - at))
                return at;
        }
    }
    return i + skip_plain(s, p + i, n - i);
}
#endif

/* Returns the number of bytes of text[0..n) before the first place where a token may begin. */
static size_t skip(const struct added_set *s, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
#if defined(__x86_64__)
    if (simd_level() == SIMD_AVX512)
        return skip_avx512(s, p, n);
#endif
    return skip_plain(s, p, n);
}

static int is_at(const struct added_walk *w, size_t at, unsigned bits, size_t *len)
{
    return unicode_is(utf8_get((const unsigned char *)w->text + at, len), bits);
}

static int is_single(const struct added_walk *w)
{
    unsigned before;
    size_t len;
    return !(utf8_last(w->text, w->begin, &before) && unicode_is(before, UNICODE_IS_WORD)) &&
           !(w->end < w->n && is_at(w, w->end, UNICODE_IS_WORD, &len));
}

/* Adds to the match the white space that its token absorbs. Returns 1, or 0 if the match before it
 * has absorbed all of it. */
static int take_spaces(struct added_walk *w, const struct added_token *token)
{
    unsigned before;
    size_t len;
    if (token->lstrip && w->begin < w->done)
        w->begin = w->done;
    while (token->lstrip && w->begin > w->done && (len = utf8_last(w->text, w->begin, &before)) &&
           unicode_is(before, UNICODE_IS_SPACE))
        w->begin -= len;
    while (token->rstrip && w->end < w->n && is_at(w, w->end, UNICODE_IS_SPACE, &len))
        w->end += len;
    return w->begin < w->end;
}

int added_next(const struct added_set *s, struct added_walk *w, int special)
{
    size_t len;
    if (!s->count || (s->all_special && !special))
        return 0;
    while ((w->at += skip(s, w->text + w->at, w->n - w->at)) < w->n) {
        uint32_t found = trie_longest(&s->trie, TRIE_ROOT, w->text + w->at, w->n - w->at, &len);
        if (found == TRIE_NONE) {
            w->at++;
            continue;
        }
        const struct added_item *item = &s->items[found];
        w->begin = w->at;
        w->end = w->at += len;
        if ((item->token.special && !special) || (item->token.single_word && !is_single(w)))
            continue;
        w->id = item->token.id;
        if (take_spaces(w, &item->token))
            return 1;
    }
    return 0;
}
