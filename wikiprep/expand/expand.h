/*
 * expand.h - expands the templates in wikitext, as MediaWiki does.
 *
 * A template call is replaced by the template's page, with arguments and defaults filled in. A
 * parser function ({{#if:…}}, {{lc:…}}) or magic word ({{PAGENAME}}) is replaced by its value. The
 * current date is the library's date, so the same input gives the same text on any day.
 *
 * A call is left in the text, for template.h to render, if its template is TEMPLATE_RENDERED, or if
 * it has a rendering and is not in the library or needs an unknown Lua module. Without a rendering,
 * a missing template becomes a link, as in MediaWiki; an unknown module shows nothing.
 *
 * References and comments are dropped first. Other tags that hold no wikitext are copied unchanged.
 *
 * A call in a loop or nested too deeply becomes MediaWiki's error message. A page's included text
 * is limited, as in MediaWiki, and so is its work: some tenths of a second, 64 MiB. At either
 * limit, text expanded before is kept, the rest of the call dropped; later calls are left as is.
 */
#pragma once

#include "wikiprep/expand/library.h"
#include "wikiprep/text/call.h"

/* Warning for the user when expand_text returns 1. */
#define EXPAND_CUT                                                                                 \
    "its templates exceed the limits on size and work; the text expanded before is kept"

/* Returns how to treat calls of the template `name` on a page. */
typedef enum template_choice expand_choose(const struct template_page *page, struct span name);

/* Working memory for one thread. `library` is borrowed. */
struct expander;
struct expander *expander_new(struct library *library, expand_choose *choose);
void expander_free(struct expander *x);

/* Replaces `out` with the expanded text of the page. Returns 1 if the page exceeded a limit and
 * something was dropped or left as a call, else 0. Never fails. */
int expand_text(struct expander *x, const struct template_page *page, const char *text, size_t n,
                struct buf *out);
