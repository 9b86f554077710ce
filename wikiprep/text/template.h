/*
 * template.h - what the templates show that carry text: {{lang|la|Roma}}, {{convert|5|mi|km}}.
 *
 * The files in wikiprep/languages, one per language, say what each of them shows, as
 * MediaWiki does but for what plain text cannot: exponents are Unicode's superscripts (km²),
 * subscripts plain figures (H2O). The file "common" explains how they are written, and holds what
 * all wikis share; the wiki's own file comes first. Templates that are in neither file are dropped:
 * they show nothing inside a sentence, or stand beside it as boxes.
 */
#ifndef TEXTMILL_WIKIPREP_TEXT_TEMPLATE_H
#define TEXTMILL_WIKIPREP_TEXT_TEMPLATE_H

#include "wikiprep/text/call.h"
#include "wikiprep/text/choice.h"

/* An expand_options.choose; ctx is a struct template_page. */
enum expand_choice template_choose(void *ctx, const char *name, size_t n);

/* A wikitext_render; ctx is a struct template_page. It shows each byte of the call at most once,
 * and adds a constant and a few bytes per argument, so that calls in calls stay linear. */
int template_render(void *ctx, const struct wikitext_call *call, struct buf *out);

#endif
