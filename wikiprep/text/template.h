/*
 * template.h - the text of templates that carry text: {{lang|la|Roma}}, {{convert|5|mi|km}}.
 *
 * The files in wikiprep/languages, one per language, define the output of each template. It is the
 * output of MediaWiki, except where plain text cannot show it: exponents become superscript
 * characters (km²), subscripts become ordinary digits (H2O). The file "common" explains the format
 * of the files and holds the rules for all wikis. A rule of the wiki's own language wins over a
 * rule in "common". In a sentence, a template without a rule shows its first argument if that is
 * words; anywhere, it shows lists and long texts that it frames. Else it is removed, as a note is.
 */
#pragma once

#include "wikiprep/text/call.h"

/* Returns what is done with calls of the template `name` on a page; for expander_new. */
enum template_choice template_choose(const struct template_page *page, struct span name);

/* Appends the text of a call and returns 1, or returns 0 if the template is not in the table or not
 * handled here. This is a function for wikitext_options.render; ctx is a struct template_page. It
 * writes each byte of the call at most once, plus a constant number of bytes and a few per
 * argument, so time stays linear for nested calls. */
int template_render(void *ctx, const struct wikitext_call *call, struct buf *out);
