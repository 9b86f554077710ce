/*
 * wikitext.h - the text of a wiki page, without its markup.
 *
 * Removed: templates, except those that are rendered (template.h); tables, unless options ask for
 * them; references, comments, files, categories, links to other languages, formulas, galleries and
 * other content that is not prose. Kept: paragraphs, headings of sections that have text, list
 * items, link labels, and the content of formatting tags. Each paragraph, heading or list item is
 * one line. Where something was removed from inside a sentence, spaces and punctuation are
 * repaired: "Paris ({{x}}, y)" becomes "Paris (y)". Other text is unchanged.
 *
 * Markup that is not closed does not swallow the rest of the page: a link ends with its paragraph;
 * a reference, comment or template ends with its line; a table ends at a blank line or heading.
 */
#pragma once

#include "wikiprep/site/names.h"
#include "wikiprep/text/call.h"

/* The state of one thread. `names` is borrowed; the options are copied. */
struct wikitext;
struct wikitext *wikitext_new(const struct names *names, const struct wikitext_options *options);
void wikitext_free(struct wikitext *w);

/* Sets, for all later pages, the names of their wiki and the sections to keep (`wanted`) and to
 * leave out (`unwanted`): lists of headings with commas. NULL: keep all, leave out none. A section
 * includes its subsections. The arguments must outlive their use. */
void wikitext_set_site(struct wikitext *w, const struct names *names, const char *wanted,
                       const char *unwanted);

/* Replaces `out` with the lines of text, separated by LF, without a final LF. Never fails. Time is
 * linear in n for any text. Invalid UTF-8 bytes are kept. */
void wikitext_clean(struct wikitext *w, const char *text, size_t n, struct buf *out);

/* As wikitext_clean, for a page in HTML (html.h). */
void wikitext_clean_html(struct wikitext *w, const char *html, size_t n, struct buf *out);
