/*
 * visible.h - wikitext without the elements that readers do not see, or not as text.
 *
 * Templates write them for scripts and for navigation: what has display:none, error messages, sort
 * keys, edit links, coordinates in another notation, and boxes marked as metadata or as not to be
 * printed (the classes that MediaWiki's own extracts of articles leave out,
 * www.mediawiki.org/wiki/Extension:TextExtracts).
 */
#ifndef TEXTMILL_WIKIPREP_TEXT_VISIBLE_H
#define TEXTMILL_WIKIPREP_TEXT_VISIBLE_H

#include "common/buf.h"

/* Removes them in place; a reference without content is left where one was, as markup.h knows how
 * to mend the text around those. Time is linear: after 64 that are not closed, no more are looked
 * for. */
void visible_filter(struct buf *text);

#endif
