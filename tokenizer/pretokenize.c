#define _GNU_SOURCE /* memmem */
#include "tokenizer/pretokenize.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "common/err.h"
#include "common/mem.h"
#include "tokenizer/ascii.h"
#include "tokenizer/regex.h"
#include "tokenizer/unicode.h"

const char gpt2_pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/* ---- rules -------------------------------------------------------------------------------- */

static int is_gpt2_pattern(const char *text, size_t n)
{
    /* The second is how some tokenizer.json files spell it; both match the same. */
    static const char *const spellings[] = {
        gpt2_pattern,
        "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    };
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (n == strlen(spellings[i]) && !memcmp(text, spellings[i], n))
            return 1;
    return 0;
}

int splitter_add(struct splitter *s, enum split_kind kind, const char *text, size_t n)
{
    if (s->count == SPLIT_RULES_MAX)
        return err_set("more than %d rules of pre-tokenization", SPLIT_RULES_MAX);
    struct split_rule r = { .kind = kind };
    if (kind == SPLIT_PATTERN && is_gpt2_pattern(text, n))
        r.kind = SPLIT_GPT2;
    if (kind == SPLIT_STRING && !n)
        return err_set("the empty string splits nothing");
    if (r.kind == SPLIT_PATTERN && !(r.regex = regex_new(text, n)))
        return -1;
    if (r.kind != SPLIT_GPT2) {
        r.text = mem_strndup(text, n);
        r.len = n;
    }
    s->rules[s->count++] = r;
    return 0;
}

void splitter_release(struct splitter *s)
{
    for (int i = 0; i < s->count; i++) {
        regex_free(s->rules[i].regex);
        free(s->rules[i].text);
    }
    s->count = 0;
}

int splitter_is_gpt2(const struct splitter *s)
{
    return s->count == 1 && s->rules[0].kind == SPLIT_GPT2;
}

/* ---- GPT-2's pattern ------------------------------------------------------------------------ */

/* Classes of ASCII; what is not ASCII is looked up by code point. */
enum { O = UNICODE_OTHER, L = UNICODE_LETTER, N = UNICODE_NUMBER, S = UNICODE_SPACE };
static const uint8_t ascii[128] = {
    O, O, O, O, O, O, O, O, O, S, S, S, S, S, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
    S, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, N, N, N, N, N, N, N, N, N, N, O, O, O, O, O, O,
    O, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, O, O, O, O, O,
    O, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, O, O, O, O, O,
};

struct scanner {
    const unsigned char *text;
    size_t n;
    const uint8_t *classes;
};

static inline int class_at(const struct scanner *s, size_t i, size_t *len)
{
    unsigned char c = s->text[i];
    if (c < 0x80) {
        *len = 1;
        return ascii[c];
    }
    return unicode_class(s->classes, utf8_get(s->text + i, len));
}

#if defined(__SSE2__)
/* Past the ASCII letters at i, sixteen bytes at a step: words are short, and a loop over their bytes
 * is one that the processor cannot foresee. */
static inline size_t skip_letters(const struct scanner *s, size_t i)
{
    const __m128i to_lower = _mm_set1_epi8(0x20), from_a = _mm_set1_epi8(127 - 'z');
    const __m128i below = _mm_set1_epi8(127 - 26);
    for (; s->n - i >= 16; i += 16) {
        __m128i c = _mm_loadu_si128((const __m128i *)(s->text + i));
        __m128i shifted = _mm_add_epi8(_mm_or_si128(c, to_lower), from_a); /* 'z' becomes 127 */
        unsigned letters = (unsigned)_mm_movemask_epi8(_mm_cmpgt_epi8(shifted, below));
        if (letters != 0xFFFF)
            return i + (size_t)__builtin_ctz(~letters);
    }
    return i;
}
#else
static inline size_t skip_letters(const struct scanner *s, size_t i)
{
    (void)s;
    return i;
}
#endif

/* Where the run of `class` that reaches i ends. */
static inline size_t run_end(const struct scanner *s, size_t i, int class)
{
    size_t len;
    if (class == L) {
        i = skip_letters(s, i);
        if (i < s->n && s->text[i] < 0x80 && ascii[s->text[i]] != L)
            return i;
    }
    while (i < s->n && class_at(s, i, &len) == class)
        i += len;
    return i;
}

/* "'s" and its like at i: its bytes, else 0. */
static inline size_t contraction(const struct scanner *s, size_t i)
{
    size_t left = s->n - i;
    char a = left > 1 ? (char)s->text[i + 1] : 0, b = left > 2 ? (char)s->text[i + 2] : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return 2;
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

/* A run of white space gives its last character to the piece behind it, unless it is the run's
 * only one or ends the text: \s+(?!\S)|\s+. */
static size_t space_end(const struct scanner *s, size_t i)
{
    size_t begin = i, last = i, len;
    while (i < s->n && class_at(s, i, &len) == S) {
        last = i;
        i += len;
    }
    return i == s->n || last == begin ? i : last;
}

static inline size_t gpt2_piece(const struct scanner *s, size_t i)
{
    const unsigned char *t = s->text;
    if (t[i] == '\'') {
        size_t n = contraction(s, i);
        if (n)
            return i + n;
    }
    size_t word = i + (t[i] == ' ' && i + 1 < s->n), len;
    int class = class_at(s, word, &len);
    if (class == S)
        return space_end(s, i);
    return run_end(s, word + len, class);
}

/* Where pieces begin in the 64 bytes from `at` on, which begin a piece themselves: a bit for each, of
 * those that are certain. A run of letters, digits or others begins a piece, unless a space in
 * front of it does; so do the first and the last of white space, the latter being the one that
 * goes to the next piece. More than 64 bytes are left. */
static uint64_t ascii_pieces(const struct scanner *s, size_t at)
{
    struct ascii_masks m;
    ascii_classify(&m, s->text + at);
    uint64_t others = ~(m.letters | m.digits | m.spaces | m.high);
    uint64_t runs = (m.letters & ~(m.letters << 1)) | (m.digits & ~(m.digits << 1)) |
                    (others & ~(others << 1));
    uint64_t begins = (runs & ~(m.blanks << 1)) |
                      (m.spaces & ~((m.spaces << 1) & (m.spaces >> 1)));
    for (uint64_t quotes = m.quotes & begins; quotes; quotes &= quotes - 1) {
        size_t i = (size_t)__builtin_ctzll(quotes), n = contraction(s, at + i);
        if (n && i + 1 < ASCII_BLOCK)
            begins &= ~((uint64_t)2 << i);
        if (n && i + n < ASCII_BLOCK)
            begins |= (uint64_t)1 << (i + n);
    }
    /* What a byte is depends on the next one, of which the last has none that is known. */
    uint64_t known = m.high ? (m.high & -m.high) - 1 : ~(uint64_t)0;
    return begins & known >> 1 & ~(uint64_t)1;
}

/* ---- the walk ------------------------------------------------------------------------------ */

/* A rule's place: it cuts [begin, end), and the piece before `at` has been given out. */
struct level {
    size_t begin, end, at;
    size_t match_begin, match_end; /* the next match, when match_end > at */
};

struct split {
    const struct splitter *splitter;
    struct regex_scratch *scratch;
    const char *text;
    struct scanner scanner; /* over the piece that a GPT-2 rule cuts */
    struct level levels[SPLIT_RULES_MAX + 1]; /* levels[0].at: end of the first rule's piece */
};

struct split *split_new(const struct splitter *splitter)
{
    struct split *s = mem_zalloc(1, sizeof *s);
    s->splitter = splitter;
    s->scanner.classes = unicode_classes();
    for (int i = 0; i < splitter->count; i++)
        if (splitter->rules[i].regex && !s->scratch)
            s->scratch = regex_scratch_new();
    return s;
}

void split_free(struct split *s)
{
    if (!s)
        return;
    regex_scratch_free(s->scratch);
    free(s);
}

void split_begin(struct split *s, const char *text, size_t n)
{
    s->text = text;
    s->scanner.text = (const unsigned char *)text;
    s->scanner.n = n;
    memset(s->levels, 0, sizeof s->levels);
    s->levels[0].end = n;
}

/* Puts the first match at or after l->at into the level; none: both at the end. */
static int find_match(struct split *s, const struct split_rule *r, struct level *l)
{
    const char *text = s->text + l->begin;
    size_t n = l->end - l->begin, from = l->at - l->begin, begin = n, end = n;
    if (r->kind == SPLIT_STRING) {
        const char *hit = memmem(text + from, n - from, r->text, r->len);
        begin = hit ? (size_t)(hit - text) : n;
        end = hit ? begin + r->len : n;
    } else {
        int got = regex_find(r->regex, s->scratch, text, n, from, &begin, &end);
        if (got < 0)
            return err_in("at byte %zu of the text", l->at);
        if (!got)
            begin = end = n;
    }
    l->match_begin = l->begin + begin;
    l->match_end = l->begin + end;
    return 0;
}

/* Moves l->at to the end of the next piece that the rule cuts; l->at < l->end. */
static int advance(struct split *s, const struct split_rule *r, struct level *l)
{
    if (r->kind == SPLIT_GPT2) {
        struct scanner part = s->scanner;
        part.n = l->end;
        l->at = gpt2_piece(&part, l->at);
        return 0;
    }
    if (l->match_end <= l->at && find_match(s, r, l) < 0)
        return -1;
    l->at = l->match_begin > l->at ? l->match_begin : l->match_end;
    return 0;
}

/* The next piece of rule i; 1, 0 at the end of the text, -1. */
static int next_piece(struct split *s, int i)
{
    struct level *l = &s->levels[i];
    if (l->at == l->end) {
        if (!i)
            return 0;
        size_t begin = s->levels[i - 1].at;
        int got = next_piece(s, i - 1);
        if (got <= 0)
            return got;
        *l = (struct level){ .begin = begin, .at = begin, .end = s->levels[i - 1].at };
    }
    return advance(s, &s->splitter->rules[i], l) < 0 ? -1 : 1;
}

static int gpt2_pieces(struct split *s, size_t *ends, int max)
{
    size_t at = s->levels[0].at;
    int count = 0;
    while (count < max && at < s->scanner.n) {
        uint64_t begins = 0;
        if (s->scanner.n - at > ASCII_BLOCK && max - count >= ASCII_BLOCK)
            begins = ascii_pieces(&s->scanner, at);
        if (!begins) {
            ends[count++] = at = gpt2_piece(&s->scanner, at);
            continue;
        }
        size_t block = at;
        for (; begins; begins &= begins - 1)
            ends[count++] = at = block + (size_t)__builtin_ctzll(begins);
    }
    s->levels[0].at = at;
    return count;
}

int split_next(struct split *s, size_t *ends, int max)
{
    int last = s->splitter->count - 1;
    if (splitter_is_gpt2(s->splitter))
        return gpt2_pieces(s, ends, max);
    if (last < 0) { /* no rules: the text is one piece */
        int more = s->levels[0].at < s->levels[0].end && max > 0;
        s->levels[0].at = ends[0] = s->levels[0].end;
        return more;
    }
    int count = 0, got = 1;
    while (count < max && (got = next_piece(s, last)) > 0)
        ends[count++] = s->levels[last].at;
    return got < 0 ? -1 : count;
}
