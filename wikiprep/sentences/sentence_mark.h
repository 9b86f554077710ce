/*
 * sentence_mark.h - a mark that may end a sentence, with the marks, quotes, brackets, reference
 * marks and emoticons that belong to it: `.`, `?!"`, `. [12]`, `! :)`.
 *
 * Some quotes look the same at both ends, and some open in one language and close in another
 * (English “a”, German „a“, French « a », Danish »a«). The spaces around them decide whether they
 * open or close. A `"` with a space on both sides, as in tokenized text, closes if the number of
 * `"` before it in the paragraph is odd.
 */
#pragma once

#include "wikiprep/sentences/letter.h"
#include "wikiprep/sentences/sentence_model.h"

struct sentence_mark {
    const struct sentence_model *model; /* borrowed */
    const char *text, *end;             /* the paragraph */
    const char *begin;                  /* start of the sentence */
    int guillemets; /* number of « without a » in the sentence before the mark */
    const char *mark;
    const char *after;   /* end of everything that belongs to the mark */
    const char *next;    /* after the spaces that follow */
    int dots;            /* number of periods; "…" counts as 3 */
    int asks;            /* 1: contains a mark other than a period */
    int spaced;          /* 1: spaces between the periods, ". . ." */
    int full;            /* 1: contains a LETTER_FULL_END mark, or two Tibetan ones */
    int quoted;          /* 1: followed by a closing quote */
    int bracketed;       /* 1: followed by ")" or "）" */
    int squared;         /* 1: followed by "]" */
    int noted;           /* 1: followed by a reference mark or emoticon: "[12]", ":)" */
    const char *counted; /* end of the text whose `"` were counted */
    int open_quotes;     /* number of `"` before `counted` */
};

/* Reads the mark at p->mark and sets the fields from `after` on. The caller has set the model, the
 * paragraph and the start of the sentence. All other fields are 0 before the first mark of a
 * paragraph. */
void sentence_mark_read(struct sentence_mark *p);

/* Returns the position after the opening quotes and brackets at s. */
const char *sentence_mark_skip_open(const char *s, const char *end);

/* Returns the position after the spaces at s. */
const char *sentence_mark_skip_spaces(const char *s, const char *end);
