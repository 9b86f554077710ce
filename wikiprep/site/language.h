/*
 * language.h - which languages have data, names of languages as templates show them: "Russian:
 * водка", "ロシア語: водка", and headings of sections.
 */
#pragma once

#include "wikiprep/values/span.h"

/* Returns the name of a language in the language of the wiki, or in English if no names in that
 * language are known. `code` is an ISO 639 code or a code of Wikipedia. Wikis whose templates
 * abbreviate the names get the short form, "англ.". Returns NULL if the name is not known. */
const char *language_name(const char *code, size_t n, const char *wiki);

/* Returns the name of the country with this code of ISO 3166 or of the Olympic committee, "USA", in
 * the language of the wiki; an empty span if it is not known. */
struct span language_country(struct span code, const char *wiki);

/* Returns 1 if wikiprep/languages has a file for this code, else 0. */
int language_has_data(const char *code, size_t n);

/* Returns the length of the language code whose data a wiki of language `code` uses. "be-tarask"
 * has data of its own: 9. "pt-br" has none and uses the data of "pt": 2. If neither the code nor
 * its part before the "-" has data, returns the length of the whole code. */
size_t language_known(const char *code);

/* If a wiki's language has no data, sets *out to a message that says so, and what is used instead,
 * and returns 1. Otherwise returns 0. */
int language_lacks_data(const char *code, struct buf *out);

/* Makes a list of comma-separated headings for a wiki in language `lang`; the caller frees it. The
 * word "default" stands for the language's headings, or the English ones, of the sections that hold
 * no prose: notes, references, literature, links. */
char *language_sections(const char *headings, const char *lang);
