/*
 * disambiguation.h - pages that list what a title may mean.
 *
 * Known by the template that marks them, in the languages of the larger wikis, or by the switch
 * __DISAMBIG__ of the extension Disambiguator.
 */
#ifndef TEXTMILL_WIKIPREP_SITE_DISAMBIGUATION_H
#define TEXTMILL_WIKIPREP_SITE_DISAMBIGUATION_H

#include <stddef.h>

/* Whether the page with this wikitext is one. Time is linear in n. */
int disambiguation_page(const char *text, size_t n);

#endif
