/*
 * languages.h - finds the language of a text, with a model that was learned from texts of each.
 *
 * The model is naive Bayes over runs of 1 to 5 characters. Letters and marks are taken in lower
 * case; what is between them is one blank; a run has a blank only at its beginning or end. A run
 * that begins with an ideograph, kana or hangul counts twice, since these stand for more than a
 * letter. A model of kinds of text, such as good and bad, is exact: its runs have all characters as
 * they are, but white space. Runs fall into buckets by a hash. A bucket has a weight for each
 * language. If n runs of the language's texts fell into it, and m were expected from the mean of
 * all languages, the weight is log2((n + 1) / (m + 1)). If m is small, so is the weight: what a
 * small sample lacks counts little. The language with the largest sum of weights is chosen.
 *
 *     "textmill languages 1 " checksum "\n"     as output_begin_summed has it
 *     u32 languages, u32 bits     2^bits buckets; 256 more in an exact model
 *     names       16 bytes each, filled up with zeros, in rising order
 *     zeros       to a multiple of 64 bytes
 *     weights     of a bucket: a signed byte for each language, in 16ths of a bit; zeros to a
 *                 multiple of 16 bytes
 *
 * Of a text of more than 2 KiB, 8 pieces of 256 bytes at equal distances are read; for an exact
 * model the first MiB.
 *
 * The score is 1 / (sum over all languages of 2^(d / 5)): d is the difference of a language's sum
 * to the largest one, in bits, and a letter is in up to 5 runs. The sums of a text of
 * more than LANGUAGES_LETTERS letters are scaled down to those of that many letters. So a long
 * text in two languages, or in one that the model does not have, may have a low score.
 */
#pragma once

#include "common/files/file.h"

enum {
    LANGUAGES_NAME = 16, /* bytes of a name, with at least one NUL */
    LANGUAGES_MOST = 480,
    LANGUAGES_RUN = 5,      /* characters of the longest run */
    LANGUAGES_PIECE = 4096, /* bytes of text that are cut into runs together */
    LANGUAGES_LETTERS = 32,
};

/* Returns 1 if s[0..n) can be the name of a language: 1 to 15 of a-z, A-Z, 0-9, - and _. */
int languages_is_name(const char *s, size_t n);

/* ---- runs of characters ---------------------------------------------------------------------- */

struct languages_runs {
    uint32_t hashes[LANGUAGES_RUN * (LANGUAGES_PIECE + 1)];
    size_t count, letters;
    int exact;
    uint32_t characters[LANGUAGES_PIECE + 2]; /* working memory */
};

/* Sets the runs of text[0..n), n <= LANGUAGES_PIECE. The text may be any bytes. */
void languages_cut(struct languages_runs *t, const char *text, size_t n);

/* ---- the model ------------------------------------------------------------------------------- */

struct languages {
    struct file_map map;
    size_t count, width; /* width: bytes of a bucket */
    int exact;
    unsigned bits;
    const char *names;
    const int8_t *weights;
};

/* Maps the model. Returns 0, or -1 with an error; the caller calls languages_close even then. */
int languages_open(struct languages *m, const char *path);
void languages_close(struct languages *m);
static inline const char *languages_name(const struct languages *m, size_t i)
{
    return m->names + i * LANGUAGES_NAME;
}

/* Returns the language of text[0..n) and sets *score, 0 to 1. Returns -1 if it has no letters. */
int languages_judge(const struct languages *m, struct languages_runs *t, const char *text, size_t n,
                    double *score);

/* ---- learning -------------------------------------------------------------------------------- */

/* The counts of runs in the texts of each language. */
struct languages_counts {
    size_t count;
    int exact; /* set by the caller */
    unsigned bits;
    const char **names; /* in rising order, all different */
    uint64_t **runs, *totals;
};

/* Begins to count for `count` languages, 2 to LANGUAGES_MOST. Borrows the names. */
void languages_counts_init(struct languages_counts *c, const char **names, size_t count);
void languages_counts_release(struct languages_counts *c);

/* Counts the runs of a text. Several threads may call it. */
void languages_count(struct languages_counts *c, size_t language, struct languages_runs *t,
                     const char *text, size_t n);

/* Writes the model to an output with a temporary name that has nothing yet. Returns 0, or -1 with
 * an error. */
int languages_write(const struct languages_counts *c, struct output *out);
