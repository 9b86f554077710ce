#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/rng.h"
#include "common/base/utf8.h"
#include "common/files/file.h"
#include "tests/unit/look.h"
#include "tests/unit/set_path.h"
#include "tokenizer/cut/ascii.h"
#include "tokenizer/cut/dialect.h"
#include "tokenizer/cut/pretokenize.h"
#include "tokenizer/cut/regex.h"
#include "unicode/unicode.h"

/* Writes the pieces of a text to `out`, with | between them. max: how many pieces are asked for at
 * a time. */
static void cut(struct buf *out, const struct splitter *s, const char *text, size_t n, int max)
{
    struct split_walk *walk = split_new(s);
    size_t ends[64], begin = 0;
    int count;
    buf_clear(out);
    split_begin(walk, text, n);
    while ((count = split_next(walk, ends, max)) > 0) {
        cr_assert_leq(count, max);
        for (int i = 0; i < count; begin = ends[i++]) {
            cr_assert(ends[i] > begin && ends[i] <= n);
            if (begin)
                buf_addc(out, '|');
            buf_add(out, text + begin, ends[i] - begin);
        }
    }
    cr_assert_eq(count, 0, "%s", err_get());
    cr_assert_eq(begin, n);
    split_free(walk);
}

static void expect_cut(const struct splitter *s, const char *text, const char *want)
{
    struct buf got = BUF_INIT;
    for (int max = 1; max <= 64; max = max * 8) {
        cut(&got, s, text, strlen(text), max);
        cr_assert_str_eq(got.data, want);
    }
    buf_release(&got);
}

static void add(struct splitter *s, enum split_kind kind, const char *text)
{
    cr_assert_eq(splitter_add(s, kind, text, text ? strlen(text) : 0), 0, "%s", err_get());
}

Test(pretokenize, gpt2_pattern)
{
    static const char *const cases[][2] = {
        { "", "" },
        { "a", "a" },
        { "Hello world", "Hello| world" },
        { "I'm you're they'll we've he'd it's can't",
          "I|'m| you|'re| they|'ll| we|'ve| he|'d| it|'s| can|'t" },
        { "I'M O'Neill 's", "I|'|M| O|'|Neill| '|s" },
        { "!'s 's", "!'|s| '|s" },
        { "''s", "''|s" },
        { "a1b22", "a|1|b|22" },
        { "x  y", "x| | y" },
        { "x   y", "x|  | y" },
        { "x \ny", "x| |\n|y" },
        { "x\n\n\ny", "x|\n\n|\n|y" },
        { "x  ", "x|  " },
        { "  x", " | x" },
        { " ", " " },
        { "\xC2\xA0x", "\xC2\xA0|x" },           /* no-break space joins nothing */
        { "\xE3\x80\x80 x", "\xE3\x80\x80| x" }, /* ideographic space, then a space */
        { "caf\xC3\xA9 \xE6\x97\xA5", "caf\xC3\xA9| \xE6\x97\xA5" },
        { "e\xCC\x81", "e|\xCC\x81" },         /* a combining mark is no letter */
        { "\xE1\xA0\x8E ", "\xE1\xA0\x8E| " }, /* U+180E is no space */
        { "it\xE2\x80\x99s", "it|\xE2\x80\x99|s" },
    };
    struct splitter s = { .count = 0 };
    add(&s, SPLIT_PATTERN, gpt2_pattern);
    cr_assert(splitter_is_gpt2(&s));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_cut(&s, cases[i][0], cases[i][1]);
    splitter_release(&s);
}

Test(pretokenize, rules_cut_what_rules_before_have_cut)
{
    struct splitter s = { .count = 0 };
    add(&s, SPLIT_STRING, "ab");
    expect_cut(&s, "xxabab y", "xx|ab|ab| y");
    add(&s, SPLIT_PATTERN, "\\d");
    expect_cut(&s, "12ab3x", "1|2|ab|3|x");
    add(&s, SPLIT_GPT2, NULL);
    expect_cut(&s, "x y12 ab  z", "x| y|1|2| |ab| | z");
    splitter_release(&s);
}

/* As in Oniguruma, \w contains the numbers of Latin-1 (such as a superscript 2), but [\w] does
 * not. */
Test(pretokenize, words_in_brackets_have_fewer_characters)
{
    static const char *const cases[][3] = {
        { "[\\w']+|[^\\w\\s]",
          "don't a\xC2\xB2"
          "b!? \xC3\xA9\xC2\xBD",
          "don't| |a|\xC2\xB2|b|!|?| |\xC3\xA9|\xC2\xBD" },
        { "\\w+|\\W",
          "a\xC2\xB2"
          "b!? \xC3\xA9\xC2\xBD",
          "a\xC2\xB2"
          "b|!|?| |\xC3\xA9\xC2\xBD" },
        { "[\\W]+|[^\\W]", "ab\xC2\xB3!_", "a|b|\xC2\xB3!|_" },
        { "\\b.", "!\xC2\xB9", "!|\xC2\xB9" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct splitter s = { .count = 0 };
        add(&s, SPLIT_PATTERN, cases[i][0]);
        expect_cut(&s, cases[i][1], cases[i][2]);
        splitter_release(&s);
    }
}

#ifndef SANITIZED /* memory that runs out is a leak */
static int without_memory(struct charset *s, const char *base)
{
    (void)s, (void)base;
    mem_zalloc(SIZE_MAX, 2);
    return -1;
}

Test(pretokenize, memory_that_runs_out_leaves_no_lock, .timeout = 30)
{
    struct buf out = BUF_INIT;
    jmp_buf here;
    mem_escape(&here);
    if (!setjmp(here)) {
        dialect_translate(&out, "\\p{Lu}", 6, without_memory);
        cr_assert_fail("memory was enough");
    }
    cr_expect_eq(dialect_translate(&out, "\\p{Lu}", 6, regex_class), 0, "%s", err_get());
    buf_release(&out);
}
#endif

/* The code points with the property White_Space in PropList.txt. PCRE2 before 10.40 has no name for
 * this property. */
Test(pretokenize, space_is_spelled_out)
{
    static const char *const patterns[] = { "\\s", "[\\s]", "[^\\S]", "\\p{White_Space}",
                                            "[\\P{^White_Space}]" };
    static const uint32_t spaces[] = { 0x9,    0xA,    0xB,    0xC,    0xD,    0x20,   0x85,
                                       0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
                                       0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A, 0x2028,
                                       0x2029, 0x202F, 0x205F, 0x3000 };
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        struct buf pattern = BUF_INIT, text = BUF_INIT;
        cr_assert_eq(dialect_translate(&pattern, patterns[k], strlen(patterns[k]), regex_class), 0);
        cr_expect_null(strstr(pattern.data, "White_Space"), "%s", pattern.data);
        struct regex *re = regex_new(patterns[k], strlen(patterns[k]));
        cr_assert(re, "%s", err_get());
        struct regex_scratch *scratch = regex_scratch_new();
        size_t begin, end, known = 0;
        for (uint32_t c = 0; c < 0x110000; c++) {
            if (c >= 0xD800 && c < 0xE000)
                continue;
            buf_clear(&text);
            utf8_add(&text, c);
            int is = known < 25 && spaces[known] == c;
            known += (size_t)is;
            cr_assert_eq(regex_find(re, scratch, text.data, text.len, 0, &begin, &end), is,
                         "%s and U+%04X", patterns[k], c);
        }
        cr_expect_eq(known, 25);
        regex_scratch_free(scratch);
        regex_free(re);
        buf_release(&pattern);
        buf_release(&text);
    }
}

/* A match with so many ways back that they do not fit the stack of PCRE2's compiled code. */
Test(pretokenize, long_match)
{
    static const char pattern[] = "(?:(a)|b)+c";
    struct regex *re = regex_new(pattern, sizeof pattern - 1);
    cr_assert(re, "%s", err_get());
    struct regex_scratch *scratch = regex_scratch_new();
    struct buf text = BUF_INIT;
    size_t begin = 1, end = 0;
    for (int i = 0; i < 700000; i++)
        buf_addc(&text, 'a');
    buf_addc(&text, 'c');
    cr_assert_eq(regex_find(re, scratch, text.data, text.len, 0, &begin, &end), 1, "%s", err_get());
    cr_expect(!begin && end == text.len);
    regex_scratch_free(scratch);
    regex_free(re);
    buf_release(&text);
}

Test(pretokenize, without_rules_the_text_is_one_piece)
{
    struct splitter s = { .count = 0 };
    expect_cut(&s, "a b c", "a b c");
    expect_cut(&s, "", "");
}

/* SuperBPE's pattern cuts a number before each three digits from its end. */
Test(pretokenize, an_empty_match_cuts)
{
    static const char *const cases[][3] = {
        { "(?=(\\d{3})+(?!\\d))", "12345678 1234 123", "12|345|678 1|234 |123" },
        { "a*", "baab", "b|aa|b" },
        { "(?=é)|$", "éaé", "éa|é" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct splitter s = { .count = 0 };
        add(&s, SPLIT_PATTERN, cases[i][0]);
        expect_cut(&s, cases[i][1], cases[i][2]);
        splitter_release(&s);
    }
}

/* Oniguruma's \v is one character, and {,2} an interval. */
Test(pretokenize, what_pcre2_reads_differently)
{
    struct splitter s = { .count = 0 };
    add(&s, SPLIT_PATTERN, "(?<!a)\\v");
    expect_cut(&s, "b\nb\vb", "b\nb|\v|b");
    splitter_release(&s);
    add(&s, SPLIT_PATTERN, "a{,2}b");
    expect_cut(&s, "aaab b", "a|aab| |b");
    splitter_release(&s);
}

Test(pretokenize, a_nul_character_in_a_pattern_is_no_operator)
{
    static const char patterns[][11] = { "a\0b", "(?<!x)a\\\0b" };
    static const size_t lengths[] = { 3, 10 };
    for (int i = 0; i < 2; i++) {
        struct splitter s = { .count = 0 };
        struct buf got = BUF_INIT;
        cr_assert_eq(splitter_add(&s, SPLIT_PATTERN, patterns[i], lengths[i]), 0, "%s", err_get());
        cut(&got, &s, "aab a\0b", 7, 64);
        cr_assert_eq(got.len, 8);
        cr_assert_arr_eq(got.data, "aab |a\0b", 8);
        buf_release(&got);
        splitter_release(&s);
    }
}

Test(pretokenize, bad_rules)
{
    static const char *const patterns[][2] = {
        { "(", "missing closing parenthesis" }, { "[a[[:alpha:]]]", "a class in" },
        { "[a&&]", "&& is not supported" },     { "\\d{1,3}+", "{n,m}+ is not" },
        { "(?m:.)", "(?m is not supported" },   { "\\d{3}?", "{n}? is not" },
        { "a|(?im)b.c", "(?m is not" },         { "\\\\|\\pL+", "\\p without {} is not" },
    };
    struct splitter s = { .count = 0 };
    add(&s, SPLIT_PATTERN, "a3}+"); /* no interval, and neither is this: */
    add(&s, SPLIT_PATTERN, "a\\{}+");
    add(&s, SPLIT_PATTERN, "\\x{12}+|\\d{1,3}?");
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        cr_assert_eq(splitter_add(&s, SPLIT_PATTERN, patterns[i][0], strlen(patterns[i][0])), -1);
        cr_assert(strstr(err_get(), patterns[i][1]), "%s", err_get());
    }
    while (s.count < SPLIT_RULES_MAX)
        add(&s, SPLIT_STRING, "a");
    cr_assert_eq(splitter_add(&s, SPLIT_STRING, "a", 1), -1);
    splitter_release(&s);
}

/* ---- the scanner against the same pattern through PCRE2 -------------------------------------- */

/* Returns an array with 1 for each code point that PCRE2's tables put into the same class as the
 * project's tables. */
static char *agreeing_points(void)
{
    static const char *const names[] = { "[^\\p{L}\\p{N}\\s]", "\\p{L}", "\\p{N}", "\\s" };
    struct regex *classes[4];
    struct regex_scratch *scratch = regex_scratch_new();
    char *agree = calloc(UNICODE_LIMIT, 1);
    struct buf text = BUF_INIT;
    for (int i = 0; i < 4; i++)
        cr_assert_not_null(classes[i] = regex_new(names[i], strlen(names[i])), "%s", err_get());
    for (unsigned c = 0; c < UNICODE_LIMIT; c++) {
        size_t begin, end;
        buf_clear(&text);
        utf8_add(&text, c);
        if (c < 0xD800 || c > 0xDFFF)
            agree[c] = (char)regex_find(classes[unicode_class(unicode_classes(), c)], scratch,
                                        text.data, text.len, 0, &begin, &end);
    }
    for (int i = 0; i < 4; i++)
        regex_free(classes[i]);
    regex_scratch_free(scratch);
    buf_release(&text);
    return agree;
}

static void add_random(struct buf *text, struct rng *r, const char *agree)
{
    static const char *const often[] = {
        " ", "  ", "\n", "\t", "'s", "'ll", "'re", "'", "the", "7"
    };
    static const unsigned limits[] = { 0x80, 0x250, 0x3100, UNICODE_LIMIT };
    if (rng_below(r, 2)) {
        buf_adds(text, often[rng_below(r, sizeof often / sizeof *often)]);
        return;
    }
    unsigned c;
    do
        c = (unsigned)rng_below(r, limits[rng_below(r, 4)]);
    while (!agree[c]);
    utf8_add(text, c);
}

Test(pretokenize, scanner_and_pcre2_cut_alike)
{
    struct splitter ours = { .count = 0 }, theirs = { .count = 0 };
    struct buf pattern = BUF_INIT, text = BUF_INIT, a = BUF_INIT, b = BUF_INIT;
    struct rng r = { rng_key(0, 4711), 0 };
    char *agree = agreeing_points();
    int agreeing = 0;
    for (unsigned c = 0; c < UNICODE_LIMIT; c++)
        agreeing += agree[c];
    cr_assert_gt(agreeing, 1090000, "%d", agreeing);
    buf_addf(&pattern, "(?>%s)", gpt2_pattern); /* no spelling that a scanner takes */
    add(&ours, SPLIT_GPT2, NULL);
    add(&theirs, SPLIT_PATTERN, pattern.data);
    cr_assert(!splitter_is_gpt2(&theirs) && !splitter_scans(&theirs));
    for (int i = 0; i < 20000; i++) {
        buf_clear(&text);
        for (uint64_t n = rng_below(&r, i % 8 ? 24 : 240); n; n--)
            add_random(&text, &r, agree);
        cut(&b, &theirs, text.data, text.len, 5);
        for (int level = SIMD_PLAIN; level <= SIMD_AVX512; level++) {
            if (simd_use((enum simd_level)level) < 0)
                continue;
            cut(&a, &ours, text.data, text.len, i % 3 ? 64 : 7);
            cr_assert_str_eq(a.data, b.data);
        }
    }
    free(agree);
    splitter_release(&ours);
    splitter_release(&theirs);
    buf_release(&pattern);
    buf_release(&text);
    buf_release(&a);
    buf_release(&b);
}

/* ---- ascii.h --------------------------------------------------------------------------------- */

Test(ascii, all_instruction_sets_say_the_same)
{
    unsigned char text[ASCII_BLOCK], lower[2][ASCII_BLOCK];
    size_t places[2][ASCII_BLOCK];
    struct ascii_masks m[2];
    struct rng r = { rng_key(0, 64), 0 };
    for (int round = 0; round < 1000; round++) {
        for (int i = 0; i < ASCII_BLOCK; i++)
            text[i] = (unsigned char)(round < 4 ? 64 * round + i : (int)rng_below(&r, 256));
        cr_assert_eq(simd_use(SIMD_PLAIN), 0);
        ascii_classify(&m[0], lower[0], text);
        ascii_classify(&m[1], NULL, text);
        cr_assert(!memcmp(&m[0], &m[1], sizeof *m));
        cr_assert_eq(ascii_find(text, ' '), m[0].blanks);
        size_t count = ascii_places(places[0], m[0].letters, 1000);
        cr_assert_eq(count, (size_t)__builtin_popcountll(m[0].letters));
        for (int level = SIMD_AVX2; level <= SIMD_AVX512; level++) {
            if (simd_use((enum simd_level)level) < 0)
                continue;
            ascii_classify(&m[1], NULL, text);
            cr_assert(!memcmp(&m[0], &m[1], sizeof *m));
            ascii_classify(&m[1], lower[1], text);
            cr_assert(!memcmp(&m[0], &m[1], sizeof *m) &&
                      !memcmp(lower[0], lower[1], sizeof *lower));
            cr_assert_eq(ascii_find(text, ' '), m[0].blanks);
            cr_assert_eq(ascii_places(places[1], m[0].letters, 1000), count);
            cr_assert(!memcmp(places[0], places[1], count * sizeof **places));
        }
    }
}

/* ---- unicode.h ------------------------------------------------------------------------------- */

Test(unicode, every_code_point_has_the_class_that_tiktoken_gives_it)
{
    const char *root = getenv("TEXTMILL_DATA");
    struct buf path = BUF_INIT;
    struct input in;
    char *line;
    size_t n;
    unsigned char *want = calloc(UNICODE_LIMIT, 1);
    set_path(&path, root ? root : "../shared/data", "tokenizers/unicode/gpt2_regex_classes.tsv");
    if (!look(path.data))
        cr_skip_test("%s is absent", path.data);
    cr_assert_eq(input_open(&in, path.data), 0);
    while (input_line(&in, &line, &n) > 0) {
        char class;
        unsigned first, last;
        char text[64] = "";
        memcpy(text, line, n < 63 ? n : 63);
        if (sscanf(text, "%c\t%x\t%x", &class, &first, &last) != 3)
            continue;
        for (unsigned c = first; c <= last; c++)
            want[c] = class == 'L' ? UNICODE_LETTER : class == 'N' ? UNICODE_NUMBER : UNICODE_SPACE;
    }
    unsigned counts[4] = { 0 };
    for (unsigned c = 0; c < UNICODE_LIMIT; c++) {
        cr_assert_eq(unicode_class(unicode_classes(), c), want[c], "U+%04X", c);
        counts[want[c]]++;
    }
    cr_assert_eq(counts[UNICODE_LETTER], 141028);
    cr_assert_eq(counts[UNICODE_NUMBER], 1911);
    cr_assert_eq(counts[UNICODE_SPACE], 25);
    input_close(&in);
    buf_release(&path);
    free(want);
}
