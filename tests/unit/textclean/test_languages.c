/* Runs of characters, weights beside their formula, and models that are damaged. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/base/utf8.h"
#include "common/files/file.h"
#include "tests/unit/temp_file.h"
#include "textclean/languages.h"

static struct languages_runs runs;

static size_t cut(const char *text)
{
    languages_cut(&runs, text, strlen(text));
    return runs.count;
}

static int has(const struct languages_runs *a, uint32_t hash)
{
    size_t found = 0;
    for (size_t i = 0; i < a->count; i++)
        found += a->hashes[i] == hash;
    return (int)found;
}

Test(languages, runs)
{
    struct languages_runs other;
    cr_expect_eq(cut(""), 0);
    cr_expect_eq(cut(" 12.\n"), 0);
    cr_expect_eq(runs.letters, 0);
    cr_expect_eq(cut("a"), 4); /* with _ for blanks: _a _a_ a a_ */
    cr_expect_eq(cut("Ab c"), 12);
    cr_expect_eq(runs.letters, 3);
    other = runs;
    cr_expect_eq(cut("--aB, 5 C!"), 12);
    cr_expect_arr_eq(runs.hashes, other.hashes, 12 * sizeof *runs.hashes);
    cr_expect_eq(cut("\u0416\u0443"), 3 + 3 + 2);
    other = runs;
    cut("\u0436\u0423");
    cr_expect_arr_eq(runs.hashes, other.hashes, runs.count * sizeof *runs.hashes);
    cr_expect_eq(cut("abcdefgh"), 4 + 5 * 5 + 4 + 3 + 2);
    cr_expect_eq(cut("\xff\xc3 \xe3\x81"), 0);
    cut("\u6708");
    cr_expect_eq(has(&runs, runs.hashes[2]), 2);
    cr_expect_eq(utf8_cut("ab\u6708", 5, 4), 2);
    cr_expect_eq(utf8_cut("ab\u6708", 5, 5), 5);
    cr_expect_eq(utf8_cut("\u6708", 3, 2), 0);
}

static const char *const texts[2] = { "the cat and the dog and the cow", "il gatto e il cane" };
static const char *names[2] = { "en", "it" };
static char *path;

static void count(struct languages_counts *c)
{
    languages_counts_init(c, names, 2);
    for (size_t i = 0; i < 2; i++)
        languages_count(c, i, &runs, texts[i], strlen(texts[i]));
}

static void remove_file(void)
{
    drop_file(path);
}

static void write_model(void)
{
    struct languages_counts c;
    struct output out;
    path = temp_file("", 0);
    atexit(remove_file);
    count(&c);
    cr_assert_eq(output_open(&out, path), 0);
    cr_assert_eq(output_end(&out, languages_write(&c, &out)), 0, "%s", err_get());
    languages_counts_release(&c);
}

Test(languages, weights)
{
    struct languages m;
    struct languages_counts c;
    double score;
    write_model();
    count(&c);
    cr_assert_eq(languages_open(&m, path), 0, "%s", err_get());
    cr_assert(m.count == 2 && m.bits == c.bits && !strcmp(languages_name(&m, 1), "it"));
    for (size_t i = 0; i < 2; i++) {
        cut(texts[i]);
        for (size_t k = 0; k < runs.count; k++) {
            size_t bucket = runs.hashes[k] >> (32 - c.bits);
            double a = (double)c.runs[i][bucket], b = (double)c.runs[!i][bucket];
            double all = (double)c.totals[i], others = (double)c.totals[!i];
            double want = 16 * log2((a + 1) / ((a + b * all / others) / 2 + 1));
            cr_expect(a >= 1 && fabs(m.weights[bucket * m.width + i] - want) <= 0.5);
        }
        cr_expect_eq(languages_judge(&m, &runs, texts[i], strlen(texts[i]), &score), (int)i);
        cr_expect(score > 0.9 && score <= 1);
    }
    cr_expect_eq(languages_judge(&m, &runs, "1 + 1", 5, &score), -1);
    cr_expect_eq(score, 0);
    cr_expect(languages_judge(&m, &runs, "\u0436", 2, &score) >= 0 && fabs(score - 0.5) < 1e-9);
    languages_close(&m);
    languages_counts_release(&c);
}

Test(languages, damaged)
{
    struct languages m;
    struct file_map whole;
    char other[64];
    write_model();
    snprintf(other, sizeof other, "%s.b", path);
    cr_assert_eq(file_map(&whole, path), 0);
    unsigned char *copy = malloc(whole.bytes + 1);
    memcpy(copy, whole.data, whole.bytes);
    copy[whole.bytes] = 0;
    for (size_t at = 0; at < 128; at++) {
        copy[at] ^= 1;
        cr_assert_eq(file_write(other, copy, whole.bytes), 0);
        cr_expect_eq(languages_open(&m, other), -1, "byte %zu", at);
        languages_close(&m);
        copy[at] ^= 1;
    }
    for (size_t n = 0; n < 400; n = n ? n * 5 : 1) {
        cr_assert_eq(file_write(other, copy, n), 0);
        cr_expect_eq(languages_open(&m, other), -1, "%zu bytes", n);
        languages_close(&m);
    }
    cr_assert_eq(file_write(other, copy, whole.bytes + 1), 0);
    cr_expect_eq(languages_open(&m, other), -1);
    languages_close(&m);
    file_unmap(&whole);
    free(copy);
    unlink(other);
}
