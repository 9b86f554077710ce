/*
 * sentence.h - splits paragraphs into sentences.
 *
 * The splitter looks at each mark that may end a sentence, at the word before the mark and at the
 * word after it. Time is linear. A sentence ends at
 *
 *     . ! ? …    if a space and then a possible beginning of a sentence follow
 *     。！？።։።  always
 *
 * together with the quotes, brackets, reference marks ("[12]") and emoticons that follow the mark,
 * unless the mark is inside « » and a lower-case word follows the », or inside brackets or quotes
 * of Chinese and Japanese, 「 」 or （ ）, that close soon. A sentence can begin with
 * a capital letter, a number or a letter of a script without case, and with quotes and brackets
 * before it. Before a capital letter it can also have a dash, as in dialogues.
 *
 * A period does not end a sentence after an abbreviation that is always followed by another word
 * ("Dr.", "e.g."), in a number or in an address. After an abbreviation that may end a sentence
 * ("etc.", "U.S.", an initial), and after an ellipsis in a title ("I Am... Anna"), the next word
 * decides: the sentence ends if that word is an opener, which is a word that is rarely capitalized
 * elsewhere ("The", "However").
 *
 * A lower-case word begins a sentence only if the word before the period is probably not an
 * abbreviation: that word is an opener, or it ends in a vowel, or an opener follows it.
 *
 * The words come from a model (sentence_model.h). The method is that of Kiss and Strunk:
 * "Unsupervised Multilingual Sentence Boundary Detection", Computational Linguistics 32, 2006.
 */
#pragma once

#include "wikiprep/sentences/sentence_model.h"

/* Appends the sentences of one paragraph to out, each followed by LF. */
void sentence_split(const struct sentence_model *m, struct buf *out, const char *s, size_t n);

/* Replaces the content of out with the sentences of s, one per line. Each line of s is a paragraph.
 * A blank line separates paragraphs; there is no LF at the end. */
void sentence_split_text(const struct sentence_model *m, struct buf *out, const char *s, size_t n);
