/*
 * sentence.h - where sentences end.
 *
 * A mark that may end one is looked at with the word before it and the word behind it; linear time.
 * A sentence ends at
 *
 *     . ! ? …    with the quotes, brackets and notes ("[12]") that follow, if then comes a space
 * and something that can begin a sentence 。！？।։።  always, with the quotes and brackets that
 * follow
 *
 * A period does not end one after an abbreviation that something always follows ("Dr.", "e.g."), in
 * a number, in an address, or before a lower-case word. After an abbreviation that may end a
 * sentence
 * ("etc.", "U.S.", an initial), and after an ellipsis, the next word decides: if it is capitalized
 * and mostly is not elsewhere ("The", "However"), a sentence begins.
 *
 * Both kinds of words come from a model (sentence_model.h); the method is Kiss and Strunk's:
 * "Unsupervised Multilingual Sentence Boundary Detection", Computational Linguistics 32, 2006.
 */
#ifndef TEXTMILL_SENTENCE_H
#define TEXTMILL_SENTENCE_H

#include <stddef.h>

#include "common/buf.h"
#include "wikiprep/sentence_model.h"

/* Appends the sentences of one paragraph to out, each with LF. */
void sentence_split(const struct sentence_model *m, struct buf *out, const char *s, size_t n);

/* Replaces out: of each line of s, a paragraph, the sentences, one a line; a blank line between
 * paragraphs and no LF at the end. */
void sentence_split_text(const struct sentence_model *m, struct buf *out, const char *s, size_t n);

#endif
