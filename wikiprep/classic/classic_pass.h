/*
 * classic_pass.h - the passes of classic.c over the text of a page; not for others.
 */
#pragma once

#include "wikiprep/classic/classic.h"
#include "wikiprep/classic/classic_spans.h"

/* State of the cleaner. A pass reads the whole of `text`, writes `next`, and then swaps the two. */
struct classic {
    struct buf text, next;
    const char *title;
    struct ranges spans;
    struct ranges open; /* stack of open calls or links: `begin` is the start of each, and `end` a
                         * call's number of open braces */
};

/* classic.c: helpers of the passes */
void classic_passed(struct classic *c); /* ends a pass: swaps `text` and `next` */
void classic_keep(struct classic *c, size_t from, size_t to); /* copies text[from, to) to `next` */
void classic_finish(struct classic *c, size_t from); /* keeps text from `from` on, ends a pass */

/* classic.c: whole passes */
void classic_drop_spans(struct classic *c); /* drops c->spans, which rise and do not overlap */
void classic_replace(struct classic *c, const char *what, const char *with); /* all occurrences */

/* classic_links.c: {{…}}, [address label], [[…]] */
void classic_drop_templates(struct classic *c);
void classic_replace_addresses(struct classic *c);
void classic_replace_links(struct classic *c);

/* classic_lines.c */
/* Collapses repeated spaces, removes spaces next to punctuation, repeated dots, and lines without
 * letters. */
void classic_tidy(struct classic *c);

/* Replaces `out` with the lines of the text that are kept, and the headings that have text after
 * them, with & < > as entities. */
void classic_write_lines(const struct classic *c, struct buf *out);

/* classic_tags.c */
/* Replaces each separating tag with the character `with`, so that the text on its two sides stays
 * apart. `names` ends with NULL. `quotes` 1: attribute values in quotes may contain '>'. */
void classic_replace_breaks(struct classic *c, const char *const *names, int quotes, char with);

/* Drops comments, empty tags, and the tags of elements whose content is kept. */
void classic_drop_tags(struct classic *c);

/* Drops elements with their content, and closing tags without an opening tag. */
void classic_drop_elements(struct classic *c);

/* Replaces <syntaxhighlight …>x</syntaxhighlight> with x, and protects its tags from later passes.
 */
void classic_protect_code(struct classic *c);
