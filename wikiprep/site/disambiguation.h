/*
 * disambiguation.h - recognizes disambiguation pages: pages that list the meanings of a title.
 *
 * A page is recognized by a template that marks such pages, in the languages of the larger wikis,
 * or by the switch __DISAMBIG__ of the extension Disambiguator.
 */
#pragma once

#include "common/base/base.h"

/* Returns 1 if text[0..n) is the wikitext of a disambiguation page. Time is linear in n. */
int disambiguation_page(const char *text, size_t n);
