#include "unicode/unicode.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "unicode/forms.h"
#include "unicode/letter_case.h"

/* The tests compare the tables with the text files of unicode/data, for every code point. */

/* The words of the line that was read last; words[count] is NULL. */
struct line {
    char text[512], *words[32];
    size_t count;
};

/* Reads the next line that is no comment. Returns 0 at the end. */
static int next_line(FILE *in, struct line *l)
{
    char *rest = NULL;
    do
        if (!fgets(l->text, sizeof l->text, in))
            return 0;
    while (*l->text == '#');
    l->count = 0;
    for (char *w = strtok_r(l->text, " \n", &rest); w; w = strtok_r(NULL, " \n", &rest))
        l->words[l->count++] = w;
    l->words[l->count] = NULL;
    return 1;
}

static FILE *open_data(const char *path)
{
    FILE *in = fopen(path, "r");
    cr_assert(in, "%s", path);
    return in;
}

/* A run of code points in a data file: first[-last[/step]], in hexadecimal. */
struct run {
    uint32_t first, last, step;
};

static struct run run_of(const char *s)
{
    char *end;
    struct run r = { (uint32_t)strtoul(s, &end, 16), 0, 1 };
    r.last = *end == '-' ? (uint32_t)strtoul(end + 1, &end, 16) : r.first;
    if (*end == '/')
        r.step = (uint32_t)strtoul(end + 1, &end, 10);
    cr_assert_eq(*end, '\0', "%s", s);
    return r;
}

static uint16_t category_of(const char *name)
{
    static const char names[] = "LuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCoCn";
    for (uint16_t i = 0; i < sizeof names / 2; i++)
        if (!memcmp(names + 2 * i, name, 2))
            return i;
    cr_assert_fail("%s", name);
    return 0;
}

static void put_set(struct unicode_record *r, const char *name)
{
    static const char *const names[] = { "space",
                                         "punctuation",
                                         "number",
                                         "word",
                                         "mark",
                                         "non-spacing",
                                         "control",
                                         "google-punctuation",
                                         "google-non-spacing",
                                         "google-control",
                                         "cased",
                                         "case-ignorable",
                                         "regex-word",
                                         "sentence-terminal",
                                         "ccnet-punctuation",
                                         "spacy-mark",
                                         "spacy-quote" };
    const char *value = strchr(name, '=');
    if (value) {
        *(*name == 'g' ? &r->google_combining : &r->combining) = (uint8_t)atoi(value + 1);
        r->is |= UNICODE_IS_COMBINING;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            r->is |= 1u << i;
}

static void expect_record(uint32_t c, const struct unicode_record *want)
{
    const struct unicode_record *r = unicode_of(c);
    cr_assert(r->category == want->category && r->is == want->is, "U+%04X", c);
    cr_assert(r->combining == want->combining && r->google_combining == want->google_combining,
              "U+%04X", c);
}

Test(unicode, properties_of_all_code_points)
{
    FILE *in = open_data("unicode/data/properties.txt");
    struct line l;
    uint32_t next = 0;
    while (next_line(in, &l)) {
        struct unicode_record want = { (uint8_t)category_of(l.words[1]), 0, 0, 0 },
                              none = { UNICODE_CN, 0, 0, 0 };
        struct run run = run_of(l.words[0]);
        for (size_t i = 2; i < l.count; i++)
            put_set(&want, l.words[i]);
        while (next < run.first)
            expect_record(next++, &none);
        while (next <= run.last)
            expect_record(next++, &want);
    }
    cr_assert_gt(next, 0x10F000);
    fclose(in);
}

Test(unicode, case_of_all_code_points)
{
    static uint32_t want[3][UNICODE_LIMIT]; /* lower, later, upper */
    FILE *in = open_data("unicode/data/case.txt");
    struct line l;
    while (next_line(in, &l)) {
        struct run run = run_of(l.words[1]);
        uint32_t to = (uint32_t)strtoul(l.words[2], NULL, 16);
        int kind = *l.words[0] == 'u' ? 2 : l.words[0][1] == 'a';
        for (uint32_t c = run.first; c <= run.last; c += run.step)
            want[kind][c] = to + c - run.first;
    }
    for (uint32_t c = 0; c < UNICODE_LIMIT; c++) {
        uint32_t lower = want[0][c] ? want[0][c] : c;
        cr_assert_eq(letter_case_lower(c), lower, "U+%04X", c);
        cr_assert_eq(letter_case_lower_new(c), want[1][c] ? want[1][c] : lower, "U+%04X", c);
        cr_assert_eq(letter_case_upper(c), want[2][c] ? want[2][c] : c, "U+%04X", c);
    }
    fclose(in);
}

Test(unicode, upper_case_of_several_characters)
{
    FILE *in = open_data("unicode/data/upper.txt");
    struct line l;
    size_t rows = 0;
    for (; next_line(in, &l); rows++) {
        struct buf letter = BUF_INIT, want = BUF_INIT, made = BUF_INIT;
        utf8_add(&letter, (unsigned)strtoul(l.words[0], NULL, 16));
        for (size_t i = 1; i < l.count; i++)
            utf8_add(&want, (unsigned)strtoul(l.words[i], NULL, 16));
        letter_case_put(&made, letter.data, letter.len, letter_case_upper);
        cr_assert_str_eq(made.data, want.data, "U+%s", l.words[0]);
        buf_release(&letter);
        buf_release(&want);
        buf_release(&made);
    }
    cr_assert_eq(rows, 102);
    fclose(in);
}

Test(unicode, scripts_of_all_code_points)
{
    static char names[256][32]; /* by number: the script's name */
    FILE *in = open_data("unicode/data/scripts.txt");
    struct line l;
    uint32_t next = 0;
    strcpy(names[UNICODE_INHERITED], "Inherited");
    while (next_line(in, &l)) {
        struct run run = run_of(l.words[0]);
        char *name = names[unicode_script(run.first)];
        if (!*name)
            snprintf(name, sizeof *names, "%s", l.words[1]);
        cr_assert_str_eq(name, l.words[1], "U+%04X", run.first);
        while (next < run.first)
            cr_assert_eq(unicode_script(next++), UNICODE_COMMON, "before U+%04X", run.first);
        for (; next <= run.last; next++)
            cr_assert_eq(unicode_script(next), unicode_script(run.first), "U+%04X", next);
    }
    while (next < UNICODE_LIMIT)
        cr_assert_eq(unicode_script(next++), UNICODE_COMMON);
    fclose(in);
}

/* ---- decompositions -------------------------------------------------------------------------- */

struct parts {
    uint32_t at[FORMS_PARTS_MAX];
    size_t count;
};
static struct parts canonical[UNICODE_LIMIT], compatible[UNICODE_LIMIT];
static uint8_t composes[UNICODE_LIMIT]; /* 1 if NFC makes the code point of its parts again */

static void read_decompositions(void)
{
    FILE *in = open_data("unicode/data/decompositions.txt");
    struct line l;
    while (next_line(in, &l)) {
        uint32_t c = (uint32_t)strtoul(l.words[1], NULL, 16);
        struct parts *p = !strcmp(l.words[0], "compatible") ? &compatible[c] : &canonical[c];
        for (size_t i = 2; i < l.count; i++)
            p->at[p->count++] = (uint32_t)strtoul(l.words[i], NULL, 16);
        composes[c] |= !strcmp(l.words[0], "pair");
    }
    fclose(in);
}

/* Appends what the code point becomes, its first part decomposed, too. */
static void put_parts(struct parts *out, uint32_t c)
{
    const struct parts *p = &canonical[c];
    if (!p->count) {
        out->at[out->count++] = c;
        return;
    }
    put_parts(out, p->at[0]);
    for (size_t i = 1; i < p->count; i++)
        out->at[out->count++] = p->at[i];
}

static void expect_parts(uint32_t c, const struct parts *want, int compatibly)
{
    uint32_t parts[FORMS_PARTS_MAX];
    size_t n = forms_decompose(parts, c, compatibly);
    cr_assert(n == want->count && !memcmp(parts, want->at, n * sizeof *parts), "U+%04X", c);
}

/* Returns 1 if NFC of the code point's decomposition is the code point. */
static int is_composed(uint32_t c, const struct parts *p)
{
    struct buf apart = BUF_INIT, whole = BUF_INIT, out = BUF_INIT;
    utf8_add(&whole, c);
    for (size_t i = 0; i < p->count; i++)
        utf8_add(&apart, p->at[i]);
    forms_normalize(&out, apart.data, apart.len, FORM_NFC);
    int same = out.len == whole.len && !memcmp(out.data, whole.data, out.len);
    buf_release(&apart);
    buf_release(&whole);
    buf_release(&out);
    return same;
}

Test(unicode, marks_are_ordered)
{
    struct buf many = BUF_INIT, want = BUF_INIT, out = BUF_INIT;
    for (int n = 2; n <= 40; n++) { /* each second one belongs before those between */
        buf_clear(&many);
        buf_clear(&want);
        buf_clear(&out);
        for (int i = 0; i < n; i++)
            utf8_add(&many, i % 2 ? 0x0316 : 0x0315); /* classes 220 and 232 */
        for (int i = 0; i < n; i++)
            utf8_add(&want, i < n / 2 ? 0x0316 : 0x0315);
        forms_normalize(&out, many.data, many.len, FORM_NFD);
        cr_assert_str_eq(out.data, want.data, "%d marks", n);
    }
    buf_release(&many);
    buf_release(&want);
    buf_release(&out);
}

Test(unicode, decompositions_of_all_code_points)
{
    read_decompositions();
    for (uint32_t c = 0; c < UNICODE_LIMIT; c++) {
        if (c - FORMS_HANGUL < FORMS_HANGUL_COUNT)
            continue;
        struct parts want = { { 0 }, 0 };
        put_parts(&want, c);
        expect_parts(c, &want, 0);
        expect_parts(c, compatible[c].count ? &compatible[c] : &want, 1);
        if (canonical[c].count)
            cr_assert_eq(is_composed(c, &want), composes[c], "U+%04X", c);
    }
}

Test(unicode, digits)
{
    unsigned count = 0;
    for (uint32_t c = 0; c < 0x110000; c++)
        if (unicode_digit(c) >= 0)
            cr_assert_eq(unicode_digit(c), (int)(count++ % 10), "U+%04X", c);
    cr_expect(count >= 660 && count % 10 == 0, "%u digits", count);
    cr_expect_eq(unicode_digit('7'), 7);
    cr_expect_eq(unicode_digit(0x1D7FF), 9); /* the last of fifty in a row */
    cr_expect_eq(unicode_digit(0xB2), -1);   /* superscript two */
}

Test(unicode, texts_in_lower_case)
{
    struct buf out = BUF_INIT;
    letter_case_put(&out, "AZ@[ \u00C9\u0130\u03A3\U00010400", 15, letter_case_lower_new);
    cr_expect_str_eq(out.data, "az@[ \u00E9i\u0307\u03C3\U00010428");
    buf_clear(&out);
    letter_case_put(&out, "ΣΟΦΟΣ, Α.Σ \xCE", strlen("ΣΟΦΟΣ, Α.Σ \xCE"), letter_case_lower);
    cr_expect_str_eq(out.data, "σοφος, α.ς \xCE");
    buf_release(&out);
}

Test(unicode, marks_as_filters_count_them)
{
    unsigned ends = 0, marks = 0;
    for (uint32_t c = 0; c < 0x110000; c++) {
        ends += (unsigned)unicode_is(c, UNICODE_IS_SENTENCE_TERMINAL);
        marks += (unsigned)unicode_is(c, UNICODE_IS_CCNET_PUNCTUATION);
    }
    cr_expect_eq(ends, 159);
    cr_expect_eq(marks, 129);
}
