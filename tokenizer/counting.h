/*
 * counting.h - counts the words of texts, or adds up files of counted words, for `tokenize count`
 * and `tokenize train`.
 */
#pragma once

#include "common/program/opt.h"
#include "tokenizer/input/source.h"
#include "tokenizer/learn/word_counts.h"
#include "tokenizer/tokenizer.h"

enum { UNITS_BYTES, UNITS_CHARACTERS };

/* The options that `tokenize count` and `tokenize train` share. */
struct counting_options {
    /* enum vocabulary_model, UNITS_, TOKENIZER_CASE_ and enum tokenizer_pattern (roles.h) */
    int model, units, letters, pattern;
    const char *from; /* path of a vocabulary that says how text is cut, in place of the fields
                       * above; NULL: none */
    int counted;      /* the input is files of counted words, not text */
    struct source_options source;
    uint64_t memory_bytes;        /* limit for all tables of words together */
    const char *temporary_folder; /* NULL: $TMPDIR or /var/tmp */
};

#define COUNTING_MEMORY ((uint64_t)2 << 30) /* the default */

/* Flags in the commands' option tables. COUNTING_NEW marks options that cannot be used with --from,
 * COUNTING_TEXT those that need text (not counted words) as input. */
enum { COUNTING_NEW = OPT_ONLY, COUNTING_TEXT = OPT_ONLY << 1 };

/* Checks that the options can be used together. Returns 0, or -1 with a usage error if not. */
int counting_check(const struct counting_options *o);

/* Returns the tokenizer that cuts text into words: the vocabulary of --from, or a new one without
 * tokens. The caller frees it. Returns NULL with an error. */
struct tokenizer *counting_tokenizer(const struct counting_options *o);

/* The word counts, one table per thread that counted. */
struct counting_tables {
    struct word_counts **tables;
    size_t count;
};

/* Counts the words of the files in argv (argc 0: stdin) into *out, or adds up the files' counts if
 * o->counted is set. Returns 0, or -1 with an error. The caller must call counting_release, also
 * after an error. */
int counting_run(const struct counting_options *o, struct counting_tables *out,
                 const struct tokenizer *t, int argc, char **argv);
void counting_release(struct counting_tables *tables);

/* Appends one line to `out` that says how text is cut into words. Files of counts hold this line
 * (word_file.h): counts may be added up only if their lines are equal. */
void counting_rules(const struct counting_options *o, const struct tokenizer *t, struct buf *out);
