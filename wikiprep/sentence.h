/*
 * sentence.h - where sentences end.
 *
 * Rules over the characters around a candidate; no training, linear time. A sentence ends at
 *
 *     . ! ? …    with the quotes and brackets that follow, if then comes a space and something
 *                that can begin a sentence
 *     。！？｡     always, with the quotes and brackets that follow
 *
 * A period does not end one after an abbreviation that always has a name or number behind it
 * ("Dr.", "Nr."), after an initial, in a number, in an address, or before a lower-case word; an
 * abbreviation that may end a sentence ("etc.", "U.S.", "Inc.") does so when the next word looks
 * like a beginning.
 */
#ifndef TEXTMILL_SENTENCE_H
#define TEXTMILL_SENTENCE_H

#include <stddef.h>

#include "common/buf.h"

/* Appends the sentences of one paragraph to out, each with LF. */
void sentence_split(struct buf *out, const char *s, size_t n);

/* Replaces out: of each line of s, a paragraph, the sentences, one a line; a blank line between
 * paragraphs and no LF at the end. */
void sentence_split_text(struct buf *out, const char *s, size_t n);

#endif
