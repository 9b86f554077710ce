/*
 * wikitext.h - the text of a wiki page, without its markup.
 *
 * Dropped: templates but for those that are rendered (template.h), tables unless they are wanted,
 * references, comments, files, categories, links to other languages, formulas, galleries and other
 * things that are not prose. Kept: paragraphs, headings (of sections that have text), list items,
 * the labels of links, the content of formatting tags. A paragraph, a heading, a list item is one
 * line. Where something was dropped from inside a sentence, spaces and punctuation are repaired:
 * "Paris ({{x}}, y)" is "Paris (y)"; other text stays as it is.
 *
 * Markup that is not closed does not take the rest of the page with it: links end with their
 * paragraph, references, comments and templates with their line, tables at a blank line or heading.
 */
#ifndef TEXTMILL_WIKIPREP_TEXT_WIKITEXT_H
#define TEXTMILL_WIKIPREP_TEXT_WIKITEXT_H

#include <stddef.h>

#include "common/buf.h"
#include "wikiprep/site/names.h"
#include "wikiprep/site/section.h"
#include "wikiprep/text/call.h"

/* Working memory for one thread. `names` is borrowed; options are copied. */
struct wikitext;
struct wikitext *wikitext_new(const struct names *names, const struct wikitext_options *options);
void wikitext_free(struct wikitext *w);

/* Another wiki's names from now on; borrowed. */
void wikitext_set_names(struct wikitext *w, const struct names *names);

/* Which sections to take, and to leave out, from now on; NULL: all, none; borrowed. Subsections go
 * with theirs. */
void wikitext_set_sections(struct wikitext *w, const struct section_list *wanted,
                           const struct section_list *unwanted);

/* Replaces `out` with the lines, LF between them and none at the end. Never fails; time is linear
 * in n, whatever the text. Bytes that are no UTF-8 go through. */
void wikitext_clean(struct wikitext *w, const char *text, size_t n, struct buf *out);

#endif
