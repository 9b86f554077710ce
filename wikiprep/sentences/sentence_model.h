/*
 * sentence_model.h - what the splitter knows of a language: its abbreviations, the words that open
 * its sentences, and its marks.
 *
 * A model is a text file that people can read and edit. Each line has a kind and words of that
 * kind, in lower case and without their last period; a line that begins with "#" is a comment:
 *
 *     textmill sentences 1
 *     title dr mr st          an abbreviation that something always follows
 *     number no vol p         an abbreviation in front of a number, a word elsewhere
 *     abbreviation etc u.s    one that may end a sentence: it does if an opener follows
 *     opener the in however   a word that is capitalized only where it opens a sentence
 *     pair u.s army           an abbreviation and a capitalized word that belong together
 *     ordinals                a number with a period is an ordinal: "3. Oktober"
 *     question ;              a mark that ends questions, as "?" does
 *     end :                   a mark that ends sentences, as "!" does
 *     pause .                 a mark that ends no sentence in this language
 *
 * Lines add up, and so do files.
 */
#ifndef TEXTMILL_WIKIPREP_SENTENCES_SENTENCE_MODEL_H
#define TEXTMILL_WIKIPREP_SENTENCES_SENTENCE_MODEL_H

#include <stddef.h>

enum sentence_word {
    SENTENCE_TITLE = 1,
    SENTENCE_NUMBER = 2,
    SENTENCE_ABBREVIATION = 4,
    SENTENCE_OPENER = 8,
    SENTENCE_PAIR = 16, /* of "first second" */
};

enum { SENTENCE_WORD_MAX_BYTES = 48 }; /* longer ones are never looked up */

struct sentence_model;

/* The built-in model of a language, by its code ("en", "pt-br"): the words common to all languages,
 * and the language's own if there are any. */
struct sentence_model *sentence_model_new(const char *lang);
void sentence_model_free(struct sentence_model *m);

/* Adds what a file says; errors name the line. "-" is stdin. */
int sentence_model_read(struct sentence_model *m, const char *path);

/* Adds what n bytes say; `name` stands for them in errors. */
int sentence_model_parse(struct sentence_model *m, const char *s, size_t n, const char *name);

/* The kinds of a word in lower case, or'ed; 0 where it is not known. */
unsigned sentence_model_word(const struct sentence_model *m, const char *word, size_t n);

int sentence_model_has_ordinals(const struct sentence_model *m);

/* Is the character one of the model's own marks: one that ends sentences, or one that ends none? */
int sentence_model_ends(const struct sentence_model *m, unsigned code);
int sentence_model_pauses(const struct sentence_model *m, unsigned code);

/* By byte: may it be the first of a mark that ends sentences? */
const unsigned char *sentence_model_first_bytes(const struct sentence_model *m);

/* The built-in models, made of wikiprep/languages: texts as above, by code, sorted; "" is common to
 * all. */
struct sentence_data {
    const char *lang, *text;
};
extern const struct sentence_data sentence_data[];
extern const size_t sentence_data_count;

#endif
