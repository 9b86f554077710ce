/*
 * sentence_train.h - learns a language's table of sentence_model.h from text.
 *
 * After Kiss and Strunk (2006), in one pass. A word w that was seen C(w.) times with a period and
 * C(w) times in all is an abbreviation if
 *
 *     2 log( P_abbr(C(w.), C(w)) / P_chance(C(w.), C(w)) )
 *         * e^-length * (periods + 1) * length^-(C(w) - C(w.))
 *
 * is at least 0.3, where P are binomial with p = 0.99, and p = the share of periods among all
 * words; length counts its letters, and periods those inside it (section 4.1). A word opens
 * sentences if it stands behind the ends of long words, which no abbreviations are, more often than
 * chance has it (section 4.3: a log-likelihood of 30), and is capitalized elsewhere seldom, against
 * its uses in small letters (the orthographic heuristic of section 4.2).
 */
#ifndef TEXTMILL_WIKIPREP_SENTENCES_SENTENCE_TRAIN_H
#define TEXTMILL_WIKIPREP_SENTENCES_SENTENCE_TRAIN_H

#include <stddef.h>

#include "common/buf.h"

struct sentence_trainer;

struct sentence_trainer *sentence_trainer_new(void);
void sentence_trainer_free(struct sentence_trainer *t);

/* Reads text, a paragraph a line. */
void sentence_trainer_add(struct sentence_trainer *t, const char *s, size_t n);

/* Appends the table. The same text makes the same table, whatever the pieces it came in. -1: there
 * was too little text to learn from. */
int sentence_trainer_finish(const struct sentence_trainer *t, struct buf *out);

/* The same, to a file. */
int sentence_trainer_write(const struct sentence_trainer *t, const char *path);

#endif
