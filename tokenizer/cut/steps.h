/*
 * steps.h - the normalizers and pre-tokenizers of tokenizer.json, step by step, in any order.
 *
 * The usual ones have faster ways: GPT-2's pattern and lists of patterns (pretokenize.h), BERT's
 * words (normalize.h). This is for all others. A normalizer's step makes a text of a text. A
 * pre-tokenizer's step cuts the pieces that the one before made; some change their texts too.
 * A piece that becomes empty is none.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_STEPS_H
#define TEXTMILL_TOKENIZER_CUT_STEPS_H

#include <stddef.h>

#include "common/buf.h"
#include "tokenizer/cut/normalize.h"
#include "tokenizer/cut/pieces.h"
#include "tokenizer/cut/pretokenize.h"

struct js;
struct charsmap;
struct regex;

enum step_kind {
    /* normalizers */
    STEP_NFD,
    STEP_NFKD,
    STEP_NFC,
    STEP_NFKC,
    STEP_LOWERCASE,
    STEP_STRIP_ACCENTS,
    STEP_NMT,
    STEP_STRIP,   /* white space at the left, at the right */
    STEP_REPLACE, /* what the pattern matches, by the content */
    STEP_PREPEND, /* the content, unless the text is empty */
    STEP_BERT,
    STEP_PRECOMPILED, /* a map of characters, by clusters that the regex finds, or the longest */
    /* pre-tokenizers */
    STEP_SPLIT,      /* at a pattern's matches */
    STEP_CHARACTERS, /* at characters with some of the bits of forms.h, each a match */
    STEP_RUNS,       /* at rows of such characters, each row a match */
    STEP_WHITESPACE, /* \w+|[^\w\s]+ */
    STEP_METASPACE,  /* spaces become another character, and begin a piece */
    STEP_BYTE_LEVEL, /* a space in front; GPT-2's pattern */
};

/* What becomes of a match. */
enum step_behavior {
    STEP_REMOVED,
    STEP_ISOLATED,
    STEP_MERGED_WITH_PREVIOUS,
    STEP_MERGED_WITH_NEXT,
    STEP_CONTIGUOUS, /* neighbours of a kind are one piece */
};

enum step_scheme { STEP_NEVER, STEP_FIRST, STEP_ALWAYS };

struct step {
    enum step_kind kind;
    struct regex *regex; /* the pattern, or else */
    char *text;          /* this string */
    size_t len;
    char *content; /* of STEP_REPLACE, STEP_PREPEND; STEP_METASPACE's character */
    size_t content_len;
    int left, right;         /* of STEP_STRIP */
    struct bert_rules rules; /* of STEP_BERT */
    struct charsmap *map;    /* of STEP_PRECOMPILED */
    enum step_behavior behavior;
    int invert;              /* what is between the matches is the match */
    unsigned bits;           /* of STEP_CHARACTERS, STEP_RUNS */
    enum step_scheme scheme; /* whether a piece gets a space in front */
    int split;               /* STEP_METASPACE cuts; STEP_BYTE_LEVEL uses the pattern */
};

struct steps {
    struct step *items;
    size_t count, cap;
};

void steps_release(struct steps *s);

/* Append the steps of a JSON value of tokenizer.json; null has none. -1: one that is not supported.
 * *byte_level is set by ByteLevel, behind which no step may come. */
int steps_read_normalizer(struct steps *s, const struct js *value);
int steps_read_pre_tokenizer(struct steps *s, const struct js *value, int *byte_level);

/* One thread's memory. */
struct stepper;
struct stepper *stepper_new(const struct steps *normalizer,
                            const struct steps *cuts); /* borrowed */
void stepper_free(struct stepper *s);

/* Whether the text is certain to stay as it is; if not, it may all the same. */
int stepper_leaves(struct stepper *s, const char *text, size_t n);

/* Appends the normalized text. *lost becomes 1 where the first of it was dropped. -1: a pattern
 * takes too much. */
int stepper_normalize(struct stepper *s, const char *text, size_t n, struct buf *out, int *lost);

/* Cuts a normalized text into pieces, which are good until the next call. `first`: it is the begin
 * of a text of which nothing was dropped. */
int stepper_cut(struct stepper *s, const char *text, size_t n, int first, struct pieces *p);

#endif
