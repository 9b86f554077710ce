/*
 * sentence_mark.h - a mark that may end a sentence, with the marks, quotes, brackets and reference
 * marks that belong to it: `.`, `?!"`, `. [12]`.
 *
 * Quotes that look alike on both sides, and those that open in one language and close in another
 * (English “a”, German „a“, French « a », Danish »a«), are told apart by the spaces around them. A
 * `"` with a space on both sides, as in tokenized text, closes if an odd number stand before it in
 * the paragraph.
 */
#ifndef TEXTMILL_WIKIPREP_SENTENCES_SENTENCE_MARK_H
#define TEXTMILL_WIKIPREP_SENTENCES_SENTENCE_MARK_H

#include "wikiprep/sentences/letter.h"
#include "wikiprep/sentences/sentence_model.h"

struct sentence_mark {
    const struct sentence_model *model; /* borrowed */
    const char *text, *end;             /* the paragraph */
    const char *begin;                  /* of the sentence */
    const char *mark;
    const char *after;   /* behind all that belongs to the mark */
    const char *next;    /* behind the spaces after that */
    int dots;            /* "...": 3; "…" counts as 3 */
    int asks;            /* has a mark other than periods */
    int spaced;          /* has spaces between its dots: ". . ." */
    int full;            /* has a mark that needs no space behind it */
    int quoted;          /* is closed by a quote, */
    int bracketed;       /* by ")" or "）", */
    int squared;         /* by "]", */
    int noted;           /* by a reference mark: "[12]" */
    const char *counted; /* `"` are counted up to here */
    int open_quotes;     /* how many there are */
};

/* Reads the mark at p->mark. The caller has set the model, the paragraph and the sentence's begin,
 * and all else to 0 before the paragraph's first mark. */
void sentence_mark_read(struct sentence_mark *p);

/* Skips the quotes and brackets that open at s, where a sentence may begin. */
const char *sentence_mark_skip_open(const char *s, const char *end);

/* Skips the spaces at s. */
const char *sentence_mark_skip_spaces(const char *s, const char *end);

#endif
