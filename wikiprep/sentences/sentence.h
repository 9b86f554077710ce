/*
 * sentence.h - splits paragraphs into sentences.
 *
 * The splitter looks at each mark that may end a sentence, the word before it and the word behind
 * it; it takes linear time. A sentence ends at
 *
 *     . ! ? …    if a space follows, and then something that can begin a sentence
 *     。！？।։።  always
 *
 * with the quotes, brackets and reference marks ("[12]") that follow. A capital letter, a number
 * and a letter of a script without case can begin a sentence, with quotes and brackets before it; a
 * capital letter also with a dash before it, as in dialogues.
 *
 * A period does not end a sentence after an abbreviation that something always follows ("Dr.",
 * "e.g."), in a number or in an address. After an abbreviation that may end a sentence ("etc.",
 * "U.S.", an initial) and after an ellipsis in a title ("I Am... Anna") the next word decides: a
 * sentence begins if that is an opener, a word that is seldom capitalized elsewhere ("The",
 * "However").
 *
 * A lower-case word begins a sentence only if the word before the period is hardly an abbreviation:
 * it is an opener, or it ends in a vowel, or an opener follows it.
 *
 * The words come from a model (sentence_model.h); the method is Kiss and Strunk's: "Unsupervised
 * Multilingual Sentence Boundary Detection", Computational Linguistics 32, 2006.
 */
#ifndef TEXTMILL_WIKIPREP_SENTENCES_SENTENCE_H
#define TEXTMILL_WIKIPREP_SENTENCES_SENTENCE_H

#include <stddef.h>

#include "common/buf.h"
#include "wikiprep/sentences/sentence_model.h"

/* Appends the sentences of one paragraph to out, each followed by LF. */
void sentence_split(const struct sentence_model *m, struct buf *out, const char *s, size_t n);

/* Replaces the content of out with the sentences of s, one per line. Each line of s is a paragraph.
 * A blank line separates paragraphs; there is no LF at the end. */
void sentence_split_text(const struct sentence_model *m, struct buf *out, const char *s, size_t n);

#endif
