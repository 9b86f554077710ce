/*
 * scan.h - cuts a text by automata (automaton.h): each cuts the pieces of the one before.
 *
 * The text goes in chunks that end where a piece of the first automaton begins, so that what is
 * behind changes nothing. Until such an end and the state of the way back are known, a chunk
 * grows: a text is read once, whatever its pieces are like.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_SCAN_H
#define TEXTMILL_TOKENIZER_CUT_SCAN_H

#include <stddef.h>

struct automaton;
struct scan; /* one thread's walk over the pieces of a text */

struct scan *scan_new(const struct automaton *const *automata, int count); /* borrowed; count > 0 */
void scan_free(struct scan *s);
void scan_begin(struct scan *s, const char *text, size_t n); /* valid UTF-8, borrowed */

/* Writes the ends of the next pieces: how many, 0 at the end of the text. */
int scan_next(struct scan *s, size_t *ends, int max);

#endif
