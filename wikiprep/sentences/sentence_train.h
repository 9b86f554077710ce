/*
 * sentence_train.h - learns the model of sentence_model.h for a language from text.
 *
 * Follows Kiss and Strunk (2006), in one pass. Let C(w.) be the number of times that word w occurs
 * with a period, and C(w) its total number. w is an abbreviation if
 *
 *     2 log( P_abbr(C(w.), C(w)) / P_chance(C(w.), C(w)) )
 *         * e^-length * (periods + 1) * length^-(C(w) - C(w.))
 *
 * is at least 0.3 (section 4.1). P_abbr is the binomial probability with p = 0.99, and P_chance
 * with p = the share of words that have a period. length is the number of letters of w, and periods
 * the number of periods inside it.
 *
 * A word opens sentences if it follows the ends of long words, which are not abbreviations, more
 * often than by chance (section 4.3: a log-likelihood of 30), and if it is rarely capitalized
 * elsewhere, compared with its uses in lower case (the orthographic heuristic of section 4.2).
 */
#pragma once

#include "common/base/base.h"

struct sentence_trainer;

struct sentence_trainer *sentence_trainer_new(void);
void sentence_trainer_free(struct sentence_trainer *t);

/* Learns from text with one paragraph per line. */
void sentence_trainer_add(struct sentence_trainer *t, const char *s, size_t n);

/* Appends the text of the learned model to `out`. The model depends only on the text, not on how
 * the text was divided into calls of sentence_trainer_add. Returns 0, or -1 with an error if there
 * was too little text. */
int sentence_trainer_finish(const struct sentence_trainer *t, struct buf *out);

/* Writes the learned model to a file. Returns 0, or -1 with an error. */
int sentence_trainer_write(const struct sentence_trainer *t, const char *path);
