/*
 * template.h - what the templates show that carry text: {{lang|la|Roma}}, {{convert|5|mi|km}}.
 *
 * A table of those that matter in articles, each with what MediaWiki shows for it, but for what
 * cannot be text: exponents are Unicode's superscripts (km²), subscripts plain figures (H2O). The
 * names are those of English Wikipedia, most of which other wikis have taken over, and what larger
 * wikis have of their own (show_local.c). Templates that show nothing inside a sentence, or boxes
 * beside it, are not in the table, and nor is any other: they are dropped.
 */
#ifndef TEXTMILL_TEMPLATE_H
#define TEXTMILL_TEMPLATE_H

#include "wikiprep/expand.h"
#include "wikiprep/wikitext.h"

struct template_page {
    const char *lang;  /* of the wiki: "en"; borrowed */
    const char *title; /* of the page; borrowed */
    int hatnotes;      /* show "Main article: …" and its kin */
};

/* An expand_options.choose; ctx is a struct template_page. */
enum expand_choice template_choose(void *ctx, const char *name, size_t n);

/* A wikitext_render; ctx is a struct template_page. What it shows is never longer than the call
 * but for a constant and a few bytes an argument, so that calls in calls stay linear. */
int template_render(void *ctx, const struct wikitext_call *call, struct buf *out);

#endif
