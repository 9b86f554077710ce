/*
 * steps.h - the normalizers and pre-tokenizers of tokenizer.json, applied step by step, in any
 * combination.
 *
 * Frequent combinations have faster implementations: GPT-2's pattern and lists of patterns
 * (pretokenize.h), and BERT's words (normalize.h). This module handles all others. A step of a
 * normalizer turns a text into another text. A step of a pre-tokenizer cuts the pieces that the
 * step before it made; some steps also change the text of the pieces. Empty pieces are dropped.
 */
#pragma once

#include "tokenizer/cut/normalize.h"
#include "tokenizer/cut/pieces.h"
#include "tokenizer/cut/pretokenize.h"

struct ids;
struct js;
struct charsmap;
struct regex;
struct regex_scratch;

enum step_kind {
    /* normalizers */
    STEP_NFD,
    STEP_NFKD,
    STEP_NFC,
    STEP_NFKC,
    STEP_LOWERCASE,
    STEP_STRIP_ACCENTS,
    STEP_NMT,
    STEP_STRIP,       /* removes white space at the left end, the right end, or both */
    STEP_REPLACE,     /* replaces each match of the pattern by the content */
    STEP_PREPEND,     /* puts the content before the text, unless the text is empty */
    STEP_APPEND,      /* puts the content after the text, unless the text is empty */
    STEP_PRECOMPILED, /* applies a character map (charsmap.h): by clusters if the step has a regex
                       * for them, otherwise by longest strings */
    /* those of a BertNormalizer */
    STEP_CLEAN,         /* drops control characters; white space becomes U+0020 */
    STEP_SPACE_CHINESE, /* puts spaces around Chinese characters */
    STEP_DROP_MARKS,    /* drops non-spacing marks */
    /* pre-tokenizers */
    STEP_SPLIT,      /* cuts at the matches of a pattern */
    STEP_CHARACTERS, /* each character with one of the bits `bits` (unicode.h) is a match */
    STEP_RUNS,       /* each run of characters with these bits is a match */
    STEP_WHITESPACE, /* each match of \w+|[^\w\s]+ is a piece */
    STEP_METASPACE,  /* replaces spaces by another character, which begins a piece */
    STEP_BYTE_LEVEL, /* puts a space in front of the text; cuts by GPT-2's pattern */
};

/* How to cut at a match; the names are those of Hugging Face's tokenizers. */
enum step_behavior {
    STEP_REMOVED,
    STEP_ISOLATED,
    STEP_MERGED_WITH_PREVIOUS,
    STEP_MERGED_WITH_NEXT,
    STEP_CONTIGUOUS, /* neighbouring matches become one piece, and so do neighbouring non-matches */
};

enum step_scheme { STEP_NEVER, STEP_FIRST, STEP_ALWAYS };

struct step {
    enum step_kind kind;
    struct regex *regex; /* the pattern is either a regular expression */
    char *text;          /* or this string */
    size_t len;
    char *content; /* content of STEP_REPLACE, STEP_PREPEND, STEP_APPEND; the character of
                      STEP_METASPACE */
    size_t content_len;
    int left, right;      /* of STEP_STRIP */
    struct charsmap *map; /* of STEP_PRECOMPILED */
    enum step_behavior behavior;
    int invert;              /* matches and the text between them exchange their roles */
    unsigned bits;           /* of STEP_CHARACTERS, STEP_RUNS */
    enum step_scheme scheme; /* which pieces get a space in front: none, the first of a document, or
                              * all */
    int split;               /* 1: STEP_METASPACE cuts; STEP_BYTE_LEVEL uses the pattern */
};

struct steps {
    struct step *items;
    size_t count, cap;
};

void step_release(struct step *s);
void steps_release(struct steps *s);

/* Returns the options of a BertNormalizer. steps_add_bert appends its steps to `s`. */
struct bert_rules steps_bert_rules(const struct js *value);
void steps_add_bert(struct steps *s, const struct bert_rules *rules);

/* Append the steps that a JSON value of tokenizer.json describes to `s`; null has no steps. Return
 * 0, or -1 with an error if a step is not supported. *byte_level is 0 before the call, and is set
 * to 1 if there is a ByteLevel pre-tokenizer; no step may follow it. */
int steps_read_normalizer(struct steps *s, const struct js *value);
int steps_read_pre_tokenizer(struct steps *s, const struct js *value, int *byte_level);

/* The working memory of one thread. */
struct stepper;
struct stepper *stepper_new(const struct steps *normalizer,
                            const struct steps *cuts); /* borrowed */
void stepper_free(struct stepper *s);

/* Returns 1 if normalization is certain not to change the text. If it returns 0, the text may or
 * may not change. */
int stepper_leaves(struct stepper *s, const char *text, size_t n);

/* Appends the normalized text to `out`. Sets *lost to 1 if the first character of the text was
 * dropped, else to 0. `origins` has the origin of each byte of the text, which become those of the
 * normalized text, if the stepper keeps them; NULL: they are not wanted. Returns 0, or -1 with an
 * error if a pattern needs too much memory or time. */
int stepper_normalize(struct stepper *s, const char *text, size_t n, struct buf *out, int *lost,
                      struct ids *origins);

/* Replaces `origins`, those of the bytes of text[0..n), by those of the `made` bytes that a step
 * made of it. `scratch` is for the step's pattern. Returns 0, or -1 with an error. */
typedef int step_follower(struct ids *origins, const struct step *step,
                          struct regex_scratch *scratch, const char *text, size_t n, size_t made);

/* stepper_keep_origins says how stepper_normalize follows origins. If not NULL, stepper_cut keeps
 * the origin of each byte of its pieces: the position in the normalized text that it was given.
 * stepper_origins returns these until the next stepper_cut, or NULL if no step cuts that text. */
void stepper_keep_origins(struct stepper *s, step_follower *follow);
const struct ids *stepper_origins(const struct stepper *s);

/* Finds the first match of the step's pattern in text[0..n) at or after `from`, and sets *begin and
 * *end to its range. Returns 1, 0 if there is none, or -1 with an error. */
int steps_find(const struct step *step, struct regex_scratch *scratch, const char *text, size_t n,
               size_t from, size_t *begin, size_t *end);

/* For STEP_REPLACE, and for decoders: steps_read_replace reads the pattern and the content;
 * steps_replace appends the text with all matches replaced. Both return 0, or -1 with an error. */
int steps_read_replace(struct step *step, const struct js *value);
int steps_replace(const struct step *step, struct regex_scratch *scratch, const char *text,
                  size_t n, struct buf *out);

/* Appends what a step of a normalizer makes of text[0..n). Returns 0, or -1 with an error. */
int steps_normalize(const struct step *step, struct regex_scratch *scratch, const char *text,
                    size_t n, struct buf *out);

/* Sets [*begin, *end) to the range of the text that STEP_STRIP keeps. */
void steps_strip(const struct step *step, const char *text, size_t n, size_t *begin, size_t *end);

/* Cuts a normalized text into pieces and sets *p to them; they are valid until the next call.
 * `first` 1: the text begins a document, and normalization did not drop its first character.
 * Returns 0, or -1 with an error. */
int stepper_cut(struct stepper *s, const char *text, size_t n, int first, struct pieces *p);
