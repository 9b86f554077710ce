/*
 * counting.h - counts the words of texts, or adds up files of counted words, for `tokenize count`
 * and `tokenize train`.
 */
#ifndef TEXTMILL_TOKENIZER_COUNTING_H
#define TEXTMILL_TOKENIZER_COUNTING_H

#include "common/buf.h"
#include "common/opt.h"
#include "tokenizer/learn/word_counts.h"
#include "tokenizer/tokenizer.h"

enum { UNITS_BYTES, UNITS_CHARACTERS };

/* What both commands have options for. */
struct counting_options {
    int model, units, letters; /* enum vocabulary_model, UNITS_, enum tokenizer_case */
    const char *from; /* text is cut as this vocabulary says, not as the three above; NULL */
    int counted;      /* the input is files of counted words, not text */
    int format;       /* enum source_format */
    const char *fields;
    uint64_t memory_bytes;
    const char *temporary_folder; /* NULL: the usual one */
};

#define COUNTING_MEMORY ((uint64_t)2 << 30) /* the default */

/* Flags of options: what --from decides, and what only text as input needs. */
enum { COUNTING_NEW = OPT_ONLY, COUNTING_TEXT = OPT_ONLY << 1 };

/* -1 with a usage error if the options do not go together. */
int counting_check(const struct counting_options *o);

/* The vocabulary that cuts text: the one of --from, or one without tokens. NULL with an error. */
struct tokenizer *counting_tokenizer(const struct counting_options *o);

/* The tables of all threads. */
struct counting_tables {
    struct word_counts **tables;
    size_t count;
};

/* Counts the words of the operands into tables; counting_release frees them also after an error. */
int counting_run(const struct counting_options *o, struct counting_tables *out,
                 const struct tokenizer *t, int argc, char **argv);
void counting_release(struct counting_tables *tables);

/* How text is cut, as a line for word_file.h: files with equal lines may be added up. */
void counting_rules(const struct counting_options *o, const struct tokenizer *t, struct buf *out);

#endif
