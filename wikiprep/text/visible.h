/*
 * visible.h - removes elements that readers do not see, or do not see as text.
 *
 * Templates write such elements for scripts and for navigation: elements with display:none, error
 * messages, sort keys, edit links, coordinates in a second notation, and boxes of the classes
 * "metadata" or "noprint". MediaWiki's own extracts of articles leave out the same classes
 * (www.mediawiki.org/wiki/Extension:TextExtracts).
 */
#pragma once

#include "wikiprep/values/span.h"

/* Removes hidden elements from text, in place, but none in <nowiki>, <pre> and source code. Each is
 * replaced by an empty "<ref/>", because markup.h repairs spaces and punctuation around removed
 * references. Time is linear: the search stops after 64 such elements without a closing tag. */
void visible_filter(struct buf *text, int hatnotes);

/* Returns 1 if an element with these attributes "class" and "style" is hidden, else 0. Notes such
 * as "Main article: Moon" are, unless `hatnotes` is 1. */
int visible_hides(struct span class, struct span style, int hatnotes);

/* Returns 1 if a table with these attributes "role" and "class" only arranges text: a list in
 * columns, a quotation between its marks. Else returns 0. */
int visible_arranges(struct span role, struct span class);
