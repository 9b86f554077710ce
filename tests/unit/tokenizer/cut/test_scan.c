#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "common/base/simd.h"
#include "common/base/utf8.h"
#include "tokenizer/cut/automaton.h"
#include "tokenizer/cut/pretokenize.h"
#include "tokenizer/cut/regex.h"
#include "tokenizer/cut/scan.h"
#include "unicode/unicode.h"

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define UPPER        "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER        "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define REST         "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* Patterns of well-known tokenizers, and some others. */
static const char *const patterns[] = {
    /* GPT-2 */
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    /* cl100k, Llama 3 */
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" REST,
    /* the same in tiktoken's notation, without a + behind the interval */
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+"
    "|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s",
    /* Qwen 2, and with marks Qwen 3.5 */
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" REST,
    CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" REST,
    /* o200k */
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" CONTRACTIONS "?|[^\\r\\n\\p{L}\\p{N}]?" UPPER
    "+" LOWER "*" CONTRACTIONS "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" REST,
    /* tekken */
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER
    "*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" REST,
    /* Kimi: classes with classes inside them */
    "[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*"
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+" CONTRACTIONS "?|\\p{N}{1,3}"
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" REST,
    /* DeepSeek */
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\\r\\n]*|" REST,
    "\\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    /* BLOOM: ( and | in the class, and one more class inside it */
    " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+",
    /* Falcon, StarCoder */
    "[0-9][0-9][0-9]",
    "\\p{N}",
    "\\p{P}+",
    /* lazy, nested, intervals, ends of lines */
    "a+?b|a",
    "(?:ab?)+?c|ab|\\s",
    "(?:a{2}|b){1,3}(?=c)|\\w",
    "\\d+$|\\d",
    "x+\\z|y|x",
    "(a|ab)(c|bcd)",
    "[a-c&&[^b]]+|\\n",
    "\\h\\H|\\u0041.|[^\\W\\d]{2,}",
};

enum { PATTERNS = sizeof patterns / sizeof *patterns };

static size_t oracle(const struct regex *re, struct regex_scratch *scratch, const struct buf *text,
                     size_t *ends)
{
    size_t count = 0, begin, end;
    for (size_t at = 0; at < text->len; at = end) {
        int got = regex_find(re, scratch, text->data, text->len, at, &begin, &end);
        cr_assert_geq(got, 0, "%s", err_get());
        if (!got)
            begin = end = text->len;
        if (begin > at)
            ends[count++] = begin;
        if (end > begin)
            ends[count++] = end;
    }
    return count;
}

static size_t scanned(struct scan *s, const struct buf *text, int max, size_t *ends)
{
    size_t count = 0;
    int got;
    scan_begin(s, text->data, text->len);
    while ((got = scan_next(s, ends + count, max)) > 0)
        count += (size_t)got;
    return count;
}

static void expect_same(const struct automaton *a, const struct regex *re, const struct buf *text,
                        int max, const char *pattern)
{
    struct regex_scratch *scratch = regex_scratch_new();
    size_t *want = mem_alloc((text->len + 1) * sizeof *want),
           *got = mem_alloc((text->len + 65) * sizeof *got);
    size_t count = oracle(re, scratch, text, want);
    for (int level = SIMD_PLAIN; level < SIMD_LEVELS; level++) {
        if (simd_use((enum simd_level)level) < 0)
            continue;
        struct scan *s = scan_new(&a, 1);
        cr_assert_eq(scanned(s, text, max, got), count, "%s at level %d", pattern, level);
        for (size_t i = 0; i < count; i++)
            cr_assert_eq(got[i], want[i], "%s: piece %zu ends at %zu, not %zu", pattern, i, got[i],
                         want[i]);
        scan_free(s);
    }
    regex_scratch_free(scratch);
    free(want);
    free(got);
}

/* Appends n random characters, some of them several times, from a few that patterns treat
 * differently. */
static void put_random(struct buf *text, struct rng *r, size_t n)
{
    static const uint32_t often[] = {
        ' ',     ' ',    '\n',   '\r',   '\t',   'a',     'b',  'c',    's',    'S',    't',
        'r',     'e',    'v',    'l',    'L',    'd',     'm',  '\'',   '\'',   '1',    '2',
        '.',     '!',    '/',    '-',    '_',    '(',     0xE9, 0xC9,   0x300,  0x17F,  0x4E00,
        0x1F600, 0x3042, 0x2019, 0xA0,   0x3000, 0x85,    0xB2, 0x2028, 0x0661, 0x01C5, 0x2B0,
        'x',     'y',    '9',    0xAC00, 0x212A, 0x10400, '|',  '&',
    };
    uint64_t all = sizeof often / sizeof *often, few = 1 + rng_below(r, 9);
    uint32_t some[9];
    for (uint64_t i = 0; i < few; i++)
        some[i] = often[rng_below(r, all)];
    for (size_t i = 0; i < n; i++) {
        uint32_t c = rng_below(r, 4) ? some[rng_below(r, few)] : often[rng_below(r, all)];
        size_t times = rng_below(r, 60) ? 1 : 1 + rng_below(r, 100);
        while (times--)
            utf8_add(text, c);
    }
}

static void each_pattern(void (*check)(const struct automaton *a, const struct regex *re,
                                       const char *pattern))
{
    for (size_t i = 0; i < PATTERNS; i++) {
        struct automaton *a = automaton_new(patterns[i], strlen(patterns[i]), regex_class);
        struct regex *re = regex_new(patterns[i], strlen(patterns[i]));
        cr_assert(re, "%s", err_get());
        cr_assert(a, "%s", patterns[i]);
        check(a, re, patterns[i]);
        automaton_free(a);
        regex_free(re);
    }
}

static void check_random(const struct automaton *a, const struct regex *re, const char *pattern)
{
    struct rng r = { rng_key(0, 20), 0 };
    for (int i = 0; i < 1000; i++) {
        struct buf text = BUF_INIT;
        put_random(&text, &r, rng_below(&r, i % 20 ? 40 : 9000));
        expect_same(a, re, &text, i % 3 ? 64 : 5, pattern);
        buf_release(&text);
    }
}

Test(scan, cuts_random_texts_as_pcre2_does)
{
    each_pattern(check_random);
}

/* Compares the automaton with the regular expression for each code point after and before a letter,
 * and after a space. Of planes with few characters only some code points are tried. */
static void check_points(const struct automaton *a, const struct regex *re, const char *pattern)
{
    struct buf text = BUF_INIT;
    for (uint32_t c = 0; c < UNICODE_LIMIT; c += c < 0x32000 || c >> 12 == 0xE0 ? 1 : 61) {
        if (c >= 0xD800 && c < 0xE000)
            continue;
        buf_addc(&text, 'a');
        utf8_add(&text, c);
        buf_adds(&text, c % 2 ? "s\n" : " ");
        utf8_add(&text, c);
    }
    expect_same(a, re, &text, 64, pattern);
    buf_release(&text);
}

Test(scan, cuts_every_code_point_as_pcre2_does)
{
    each_pattern(check_points);
}

/* Patterns that the automaton does not support, or for which it would be too large, must be left to
 * PCRE2. */
Test(scan, leaves_other_patterns)
{
    static const char *const others[] = {
        "(?<=a)b",
        "(a)\\1",
        "(?>ab)c",
        "(?:ab)++",
        "a*",
        "^a",
        "\\bx",
        "a{2}?",
        "a{1,2}+",
        "(?i:\u00e9)",
        "(?m:.)",
        "[a",
        "(a",
        "a)",
        "a||b",
        "(?=ab)a",
        "[[:alpha:]]",
        "a{70}",
        "(?:abcdefghijklmnopqrst)",
        "(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)"
        "(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)"
        "(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)"
        "(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)(?:a?|b?)x",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_expect_null(automaton_new(others[i], strlen(others[i]), regex_class), "%s", others[i]);
}

/* Cuts a text by the rules with regular expressions, one rule after the other, and writes each
 * piece with a NUL after it. */
static void tile(const struct split_rule *rules, int count, const struct buf *text, struct buf *out)
{
    size_t *ends = mem_alloc((text->len + 1) * sizeof *ends), begin = 0;
    if (!count) {
        buf_add(out, text->data, text->len);
        buf_addc(out, '\0');
        free(ends);
        return;
    }
    struct regex_scratch *scratch = regex_scratch_new();
    size_t pieces = oracle(rules->regex, scratch, text, ends);
    for (size_t i = 0; i < pieces; begin = ends[i++]) {
        struct buf piece = BUF_INIT;
        buf_add(&piece, text->data + begin, ends[i] - begin);
        tile(rules + 1, count - 1, &piece, out);
        buf_release(&piece);
    }
    regex_scratch_free(scratch);
    free(ends);
}

Test(scan, rules_cut_the_pieces_of_those_before)
{
    static const int chosen[] = { 9, 10, 8 }; /* DeepSeek's */
    struct splitter rules = { .count = 0 };
    struct rng r = { rng_key(0, 21), 0 };
    for (int i = 0; i < 3; i++)
        cr_assert_eq(
            splitter_add(&rules, SPLIT_PATTERN, patterns[chosen[i]], strlen(patterns[chosen[i]])),
            0, "%s", err_get());
    cr_assert(splitter_scans(&rules));
    for (int round = 0; round < 600; round++) {
        struct buf text = BUF_INIT, want = BUF_INIT, got = BUF_INIT;
        size_t ends[64], begin = 0;
        int count;
        put_random(&text, &r, rng_below(&r, round % 10 ? 40 : 9000));
        tile(rules.rules, 3, &text, &want);
        simd_use((enum simd_level)(round % SIMD_LEVELS));
        struct split_walk *s = split_new(&rules);
        split_begin(s, text.data, text.len);
        while ((count = split_next(s, ends, 64)) > 0)
            for (int i = 0; i < count; begin = ends[i++]) {
                buf_add(&got, text.data + begin, ends[i] - begin);
                buf_addc(&got, '\0');
            }
        if (!text.len)
            buf_clear(&want);
        cr_assert_eq(got.len, want.len);
        cr_assert(!got.len || !memcmp(got.data, want.data, got.len));
        split_free(s);
        buf_release(&text);
        buf_release(&want);
        buf_release(&got);
    }
    splitter_release(&rules);
}

/* Bytes stand for the characters of a byte alphabet, as in GPT-2's. */
Test(scan, an_automaton_of_bytes_cuts_where_their_characters_are_cut)
{
    static const char pattern[] = "[0-9][0-9][0-9]|\u0180+|[\u01C0-\u01D0]";
    struct automaton *a = automaton_new(pattern, strlen(pattern), regex_class);
    struct regex *re = regex_new(pattern, strlen(pattern));
    struct regex_scratch *scratch = regex_scratch_new();
    struct rng r = { rng_key(0, 22), 0 };
    uint32_t points[256];
    for (uint32_t b = 0; b < 256; b++)
        points[b] = b < 0x80 ? b : b + 0x100; /* U+0180 and on: two bytes each */
    cr_assert(a && re);
    automaton_of_bytes(a, points);
    for (int round = 0; round < 600; round++) {
        struct buf text = BUF_INIT, characters = BUF_INIT;
        size_t want[6000], got[6000];
        for (uint64_t n = rng_below(&r, round % 10 ? 200 : 5000); n; n--) {
            uint32_t b = rng_below(&r, 3) ? rng_below(&r, 2) ? '7' : 0x80
                                          : (uint32_t)rng_below(&r, 256);
            buf_addc(&text, (int)b);
            utf8_add(&characters, points[b]);
        }
        size_t count = oracle(re, scratch, &characters, want);
        simd_use((enum simd_level)(round % SIMD_LEVELS));
        struct scan *s = scan_new((const struct automaton *const *)&a, 1);
        cr_assert_eq(scanned(s, &text, 64, got), count);
        for (size_t i = 0; i < count; i++)
            cr_assert_eq(got[i], utf8_count(characters.data, want[i]));
        scan_free(s);
        buf_release(&text);
        buf_release(&characters);
    }
    regex_scratch_free(scratch);
    regex_free(re);
    automaton_free(a);
}

/* A very long piece must be read once. Reading it again for each chunk would take minutes. */
Test(scan, long_pieces, .timeout = 60)
{
    enum { LONG = 30 << 20 };
    const struct automaton *a = automaton_new(patterns[1], strlen(patterns[1]), regex_class);
    struct scan *s = scan_new(&a, 1);
    static const char repeated[] = { ' ', 'x', '\n' };
    for (size_t i = 0; i < sizeof repeated; i++) {
        struct buf text = BUF_INIT;
        size_t ends[64], last = 0;
        int got, count = 0;
        buf_reserve(&text, LONG + 1);
        memset(text.data, repeated[i], LONG);
        text.len = LONG;
        buf_adds(&text, "y");
        scan_begin(s, text.data, text.len);
        while ((got = scan_next(s, ends, 64)) > 0) {
            last = ends[got - 1];
            count += got;
        }
        cr_expect_eq(count, repeated[i] == 'x' ? 1 : 2);
        cr_expect_eq(last, text.len);
        buf_release(&text);
    }
    scan_free(s);
    automaton_free((struct automaton *)a);
}
