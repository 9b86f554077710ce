/*
 * classic_pass.h - the passes of classic.c over a page's text; not for others.
 */
#ifndef TEXTMILL_WIKIPREP_CLASSIC_CLASSIC_PASS_H
#define TEXTMILL_WIKIPREP_CLASSIC_CLASSIC_PASS_H

#include "wikiprep/classic/classic.h"
#include "wikiprep/classic/classic_spans.h"

/* Passes over the whole text, each from `text` into `next`, which then change places. */
struct classic {
    struct buf text, next;
    const char *title;
    struct ranges spans;
    struct range *braces; /* open calls: where they begin, and how many braces are open */
    size_t brace_count, braces_cap;
    size_t *links; /* where links begin that are open */
    size_t links_cap;
};

/* classic.c: what passes are made of */
void classic_passed(struct classic *c);                       /* `next` is the text now */
void classic_keep(struct classic *c, size_t from, size_t to); /* text[from, to) goes to `next` */

/* classic.c: whole passes */
void classic_drop_spans(struct classic *c); /* those of c->spans */
void classic_replace(struct classic *c, const char *what, const char *with);

/* classic_links.c: {{…}}, [address label], [[…]] */
void classic_drop_templates(struct classic *c);
void classic_replace_addresses(struct classic *c);
void classic_replace_links(struct classic *c);

/* classic_tags.c */
/* Tags that part (`names` ends with NULL): what they part is not to run together. `quotes`: their
 * attributes may have a '>' in quotes. */
void classic_replace_breaks(struct classic *c, const char *const *names, int quotes, char with);

/* Comments, empty tags, and the tags whose content stays. */
void classic_drop_tags(struct classic *c);

/* Elements that go with their content, and closing tags of those that are not open. */
void classic_drop_elements(struct classic *c);

/* <syntaxhighlight …>x</syntaxhighlight> is x, in which nothing is a tag. */
void classic_protect_code(struct classic *c);

#endif
