/* Each rule fails its text and lets a good one pass; limits are set, learned and refused. */
#include "textclean/rules.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/dir.h"
#include "tests/unit/look.h"

TestSuite(rules, .init = make_dir, .fini = remove_dir);

static const char all[] = "gopher,repetition,c4,fineweb,mc4";
static const char good[] =
    "The old harbour lies to the north of the town, and ships that come from distant islands have "
    "to wait with their cargo until the evening tide carries them over a bar of sand which every "
    "storm moves a little.\n"
    "Fishermen know where it was yesterday. Nobody can be sure about tomorrow, so pilots go out "
    "before dawn, sound the depth by lead and line, then mark safe water using barrels painted "
    "red or green for captains who follow.\n"
    "In winter such work becomes dangerous. Ice covers ropes, fingers grow stiff, fog hides both "
    "shores at once! Yet someone always rows, because bread, coal, letters reach these streets "
    "only by sea. Would you do it?\n";

/* Returns a copy of the text with readable bytes behind it. */
static struct buf padded(const char *text)
{
    struct buf copy = BUF_INIT;
    buf_adds(&copy, text);
    buf_reserve(&copy, WORDS_PAD);
    return copy;
}

/* Returns the name of the rule that the text fails, or "" if it passes. */
static const char *judge(const struct rules *r, const char *text)
{
    SCOPED(buf) copy = padded(text);
    struct rules_tools tools;
    uint64_t lines = 0;
    rules_tools_init(NULL, &tools);
    int failed = rules_judge(r, &tools, copy.data, copy.len, &lines);
    rules_tools_release(&tools);
    return failed < 0 ? "" : r->names[failed];
}

/* Turns all rules off but this one and that whose name it extends: what a line is to it. */
static void keep_one(struct rules *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strncmp(r->names[i], name, strlen(r->names[i])) != 0)
            r->limits[i] = NAN;
}

Test(rules, each_fails_its_text)
{
    static const char *const cases[][2] = {
        { "gopher-min-words", "few words" },
        { "gopher-min-mean", "a b c" },
        { "gopher-max-mean", "abcdefghijkl abcdefghijkl" },
        { "gopher-hashes", "# one" },
        { "gopher-ellipses", "a... b c" },
        { "gopher-bullets", "- a\n \xE2\x80\xA2 b" },
        { "gopher-cut-lines", "a...\nb\xE2\x80\xA6" },
        { "gopher-letters", "1 2 3 a" },
        { "gopher-stop-words", "no words with such a meaning" },
        { "repetition-empty", "" },
        { "repetition-paragraphs", "a\n\na" },
        { "repetition-paragraph-chars", "a\n\na" },
        { "repetition-lines", "a\na" },
        { "repetition-lines", "a\n \n \n \nb" }, /* lines of spaces count */
        { "repetition-line-chars", "a\na" },
        { "repetition-top-2", "a b a b" },
        { "repetition-5", "a b c d e a b c d e" },
        { "c4-lorem-ipsum", "Here lorem ipsum is." },
        { "c4-brace", "Then if { it is so." },
        { "c4-sentences", "Only one sentence is here." },
        { "fineweb-empty", " \n" },
        { "fineweb-end-marks", "no end\nnor here" },
        { "fineweb-short-lines", "short.\nshort." },
        { "fineweb-repeated", "a\na" },
        { "fineweb-line-ends", "a\nb\nc" },
        { "mc4-long-lines", "short" },
    };
    struct rules r;
    char set[16];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(set, sizeof set, "%.*s", (int)strcspn(cases[i][0], "-"), cases[i][0]);
        cr_assert_eq(rules_set(&r, set, NULL, NULL, 0), 0, "%s", err_get());
        keep_one(&r, cases[i][0]);
        cr_expect_str_eq(judge(&r, cases[i][1]), cases[i][0]);
        cr_expect_str_eq(judge(&r, good), "", "%s", cases[i][0]);
    }
}

Test(rules, limits_are_set)
{
    static const char *const changes[] = { "gopher-max-words=3" };
    static const char *const off[] = { "gopher-max-words=off", "gopher-min-words=0" };
    struct rules r;
    cr_assert_eq(rules_set(&r, all, NULL, NULL, 0), 0);
    cr_expect_str_eq(judge(&r, good), "");
    cr_assert_eq(rules_set(&r, all, NULL, changes, 1), 0);
    cr_expect_str_eq(judge(&r, good), "gopher-max-words");
    put_text("limits", "gopher-max-words: 3\n");
    cr_assert_eq(rules_set(&r, all, in_dir("limits"), NULL, 0), 0, "%s", err_get());
    cr_expect_str_eq(judge(&r, good), "gopher-max-words");
    cr_assert_eq(rules_set(&r, all, in_dir("limits"), off, 2), 0);
    cr_expect_str_eq(judge(&r, good), "");
    cr_assert_eq(rules_set(&r, "c4", NULL, changes, 1), 0);
    cr_expect_str_eq(judge(&r, good), "");
}

/* Lines of one sentence each, more than a hundred. With reference marks they are counted anew. */
Test(rules, many_sentences_are_counted)
{
    static const char *const changes[] = { "c4-sentences=130" };
    static const char *const lines[] = { "Here is one.\n", "Here is one [1] more.\n" };
    for (size_t i = 0; i < 2; i++) {
        struct rules r;
        SCOPED(buf) text = BUF_INIT;
        cr_assert_eq(rules_set(&r, "c4", NULL, changes, 1), 0);
        for (int k = 0; k < 129; k++)
            buf_adds(&text, lines[i]);
        cr_expect_str_eq(judge(&r, text.data), "c4-sentences");
        buf_adds(&text, lines[i]);
        cr_expect_str_eq(judge(&r, text.data), "");
    }
}

/* Arabic, Persian, Hindi and others have digits of their own. */
Test(rules, references_have_digits_of_all_scripts)
{
    static const char *const changes[] = { "c4-sentences=1" };
    static const char text[64] = "This is so[1][\xD9\xA3][\xDB\xB1\xDB\xB2] [a] [\xE4\xB8\x80].";
    static const char left[] = "This is so [a] [\xE4\xB8\x80].";
    struct rules r;
    struct rules_tools t;
    uint64_t lines = 0;
    cr_assert_eq(rules_set(&r, "c4", NULL, changes, 1), 0);
    rules_tools_init(NULL, &t);
    cr_expect_eq(rules_judge(&r, &t, text, strlen(text), &lines), -1);
    cr_expect(bytes_are(t.features.text, t.features.n, left), "%.*s", (int)t.features.n,
              t.features.text);
    rules_tools_release(&t);
}

/* A phrase may be on both sides of a reference mark, which is removed first. */
Test(rules, phrases_are_searched_without_references)
{
    static const char *const changes[] = { "c4-sentences=1" };
    struct rules r;
    cr_assert_eq(rules_set(&r, "c4", NULL, changes, 1), 0);
    cr_expect_str_eq(judge(&r, "See [1] one more line.\n"), "");
    cr_expect_str_eq(judge(&r, "We use [1]cookies.\n"), "c4-sentences");
    cr_expect_str_eq(judge(&r, "See [1] one more.\nLOREM [2]ipsum is here.\n"), "c4-lorem-ipsum");
}

/* As many lines with { or lorem ipsum as the limits allow, and the lines after them, are judged as
 * others. */
Test(rules, some_lines_with_braces_may_stay)
{
    static const char *const changes[] = { "c4-brace=1", "c4-lorem-ipsum=1", "c4-sentences=3" };
    static const char *const off[] = { "c4-brace=off", "c4-lorem-ipsum=off", "c4-sentences=3" };
    struct rules r;
    cr_assert_eq(rules_set(&r, "c4", NULL, changes, 3), 0);
    cr_expect_str_eq(judge(&r, "Here lorem ipsum is.\nThen { it is so.\nOne more line.\n"), "");
    cr_expect_str_eq(judge(&r, "Here { it is.\nThere { it is.\nOne more line.\n"), "c4-brace");
    cr_expect_str_eq(judge(&r, "A lorem ipsum.\nThe lorem ipsum.\nOne more line.\n"),
                     "c4-lorem-ipsum");
    cr_assert_eq(rules_set(&r, "c4", NULL, off, 3), 0);
    cr_expect_str_eq(judge(&r, "Here { it is.\nThe lorem ipsum { is.\nThe lorem ipsum.\n"), "");
}

Test(rules, refuses)
{
    static const char *const changes[][2] = {
        { "gopher-max-word=3", "do you mean 'gopher-max-words'?" },
        { "gopher-hashes=-1", "gopher-hashes must be 0 or more, or off, not '-1'" },
        { "gopher-hashes", "not ''" },
        { "gopher-hashes=1x", "not '1x'" },
    };
    struct rules r;
    cr_expect_eq(rules_set(&r, "gopher,c5", NULL, NULL, 0), -1);
    expect_error("no set 'c5'");
    cr_expect_eq(rules_set(&r, "c4,c4", NULL, NULL, 0), -1);
    expect_error("names 'c4' twice");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        cr_expect_eq(rules_set(&r, all, NULL, changes[i], 1), -1);
        expect_error(changes[i][1]);
    }
    put_text("limits", "gopher-hashes: 1\nmc4: 2\n");
    cr_expect_eq(rules_set(&r, all, in_dir("limits"), NULL, 0), -1);
    expect_error("limits: line 2: no rule 'mc4'");
}

/* By limits that were learned from them, texts pass; with a half beyond the limits, one does not.
 */
Test(rules, learned)
{
    static const char *const texts[] = { good, "- a #\n- a #\n\n- a...\nb b b b b b b b b b" };
    double values[2 * RULES_MOST];
    struct rules_tools tools;
    struct rules r;
    cr_assert_eq(rules_set(&r, "gopher,repetition,fineweb", NULL, NULL, 0), 0);
    rules_tools_init(NULL, &tools);
    for (size_t i = 0; i < 2; i++) {
        SCOPED(buf) text = padded(texts[i]);
        rules_measure(&r, &tools, text.data, text.len, values + i * r.count);
    }
    rules_tools_release(&tools);
    for (int half = 0; half < 2; half++) {
        struct buf limits = BUF_INIT;
        size_t learned = rules_learn(values, 2, half ? .5 : 0, &limits), lines = 0;
        for (size_t i = 0; i < limits.len; i++)
            lines += limits.data[i] == '\n';
        cr_expect(learned == lines && learned > 20);
        put_text("limits", limits.data);
        cr_assert_eq(rules_set(&r, "repetition", in_dir("limits"), NULL, 0), 0, "%s", err_get());
        cr_expect_str_eq(judge(&r, good), "");
        cr_expect_str_eq(judge(&r, texts[1]), half ? "repetition-lines" : "");
        buf_release(&limits);
    }
}

Test(rules, table)
{
    struct buf out = BUF_INIT;
    struct rules r;
    cr_assert_eq(rules_set(&r, "mc4", NULL, NULL, 0), 0);
    rules_print(&r, &out);
    cr_expect(strstr(out.data, "mc4-long-lines              at least       3  number of long"));
    buf_release(&out);
}
