/*
 * sentence_model.h - language data for sentence splitting: abbreviations, words that begin
 * sentences, and marks.
 *
 * A model is a text file that people can read and edit. Each line has a keyword and its words, in
 * lower case and without their last period. A line that begins with "#" is a comment:
 *
 *     textmill sentences 1
 *     title dr mr st          an abbreviation before a name or another word: it ends no sentence
 *     number no vol p         an abbreviation before a number, else a word that letters can count
 *     abbreviation etc u.s    an abbreviation that ends a sentence only if an opener follows
 *     opener the in however   a word that is rarely capitalized except to begin a sentence
 *     pair u.s army           an abbreviation and a capitalized word that belong together
 *     pair . le               an initial and an opener that begins surnames: "J. Le Goff"
 *     ordinals                a number with a period is an ordinal: "3. Oktober"
 *     question ;              a mark that ends questions, as "?" does
 *     end :                   a mark that ends sentences, as "!" does
 *     pause .                 a mark that does not end sentences in this language
 *
 * Several lines of a keyword add up, and so do several files.
 */
#pragma once

#include "common/base/base.h"

enum sentence_word {
    SENTENCE_TITLE = 1,
    SENTENCE_NUMBER = 2,
    SENTENCE_ABBREVIATION = 4,
    SENTENCE_OPENER = 8,
    SENTENCE_PAIR = 16, /* the words "first second" */
};

enum { SENTENCE_WORD_MAX_BYTES = 48 }; /* longer words are never found */

/* The marks of a language. */
struct sentence_marks {
    int ordinals; /* "3." is an ordinal */
    /* By ASCII character: ends[c] is 1 if c ends sentences, pauses[c] if it does not. */
    unsigned char ends[128], pauses[128];
    unsigned char first_bytes[256]; /* 1 for a byte that can be the first of a mark */
};

struct sentence_model {
    struct nameset *words; /* the values are unsigned: their kinds */
    struct sentence_marks marks;
};

/* Returns the built-in model of a language code ("en", "pt-br"): the words of all languages, and
 * the language's own words if there are any. */
struct sentence_model *sentence_model_new(const char *lang);
void sentence_model_free(struct sentence_model *m);

/* Adds the lines of a model file to m; `path` "-" is stdin. Returns 0, or -1 with an error that
 * names the line. */
int sentence_model_read(struct sentence_model *m, const char *path);

/* Adds the lines of the model s[0..n); `name` is its name in errors. Returns 0, or -1 with an
 * error. */
int sentence_model_parse(struct sentence_model *m, const char *s, size_t n, const char *name);

/* Returns the kinds (enum sentence_word, or'ed) of a word in lower case, or 0 if it is not
 * known. */
unsigned sentence_model_word(const struct sentence_model *m, const char *word, size_t n);

/* The built-in models, generated from wikiprep/languages: model texts, sorted by language code. The
 * code "" has the words of all languages. */
struct sentence_data {
    const char *lang, *text;
};
extern const struct sentence_data sentence_data[];
extern const size_t sentence_data_count;
