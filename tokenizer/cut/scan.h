/*
 * scan.h - cuts a text with automata (automaton.h). Each automaton cuts the pieces of the one
 * before it.
 *
 * The text is processed in chunks. A chunk ends where a piece of the first automaton begins, so the
 * text after it cannot change the pieces before it. A chunk grows until such an end is found and
 * the backward state there is known. So the text is read about once, whatever its pieces are.
 */
#pragma once

#include "common/base/base.h"

struct automaton;
struct scan; /* one thread's iteration over the pieces of a text */

struct scan *scan_new(const struct automaton *const *automata, int count); /* borrowed; count > 0 */
void scan_free(struct scan *s);
void scan_begin(struct scan *s, const char *text, size_t n); /* valid UTF-8, borrowed */

/* Cuts the text also at these offsets, as split_also_at does. */
void scan_also_at(struct scan *s, const size_t *offsets, size_t count);

/* Writes the ends of the next pieces, as offsets in the text, to ends[]. Returns their number, at
 * most max; 0 at the end of the text. */
int scan_next(struct scan *s, size_t *ends, int max);
