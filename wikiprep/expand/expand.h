/*
 * expand.h - wikitext with its templates expanded, as MediaWiki does it.
 *
 * Calls of templates are replaced by their pages, with arguments and defaults; parser functions
 * ({{#if:…}}, {{lc:…}}) and magic words ({{PAGENAME}}) by what they give. Dates are the library's,
 * so that the same input gives the same text on any day. Left as calls, for template.h to render:
 * those of templates that the library does not have, or that need a Lua module which is not
 * known, if there is a rendering. Others are dropped.
 *
 * References and comments are dropped first; other tags that hold no wikitext pass untouched.
 *
 * MediaWiki's bounds hold for a page: depth, loops, and the size of what is included. What is
 * beyond them is dropped. One more bounds the work, and so time and memory: some tenths of a second
 * and 64 MiB. What was expanded up to there is kept; later calls are left as they stand.
 */
#ifndef TEXTMILL_WIKIPREP_EXPAND_EXPAND_H
#define TEXTMILL_WIKIPREP_EXPAND_EXPAND_H

#include <stddef.h>

#include "common/buf.h"
#include "wikiprep/expand/library.h"
#include "wikiprep/text/choice.h"

struct expand_page {
    const char *title; /* with its namespace */
    int ns;
    const char *id, *revid, *timestamp; /* "" where they are not known */
};

/* What to say where expand_text returns 1. */
#define EXPAND_CUT                                                                                 \
    "its templates exceed the limits on size and work; the text expanded before is kept"

struct expand_options {
    enum expand_choice (*choose)(void *ctx, const char *name, size_t n); /* NULL: EXPAND_ALONE */
    void *ctx;
};

/* Working memory for one thread. `library` is borrowed; `options` is copied. */
struct expander;
struct expander *expander_new(struct library *library, const struct expand_options *options);
void expander_free(struct expander *x);

/* Replaces `out` by the text of the page, expanded. Never fails. 1: the page went beyond a bound,
 * and something was dropped or left as a call; else 0. */
int expand_text(struct expander *x, const struct expand_page *page, const char *text, size_t n,
                struct buf *out);

#endif
