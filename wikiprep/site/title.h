/*
 * title.h - the name of a page, as MediaWiki reads one: "template:foo_bar#x" is "Foo bar" in
 * namespace 10.
 */
#ifndef TEXTMILL_WIKIPREP_SITE_TITLE_H
#define TEXTMILL_WIKIPREP_SITE_TITLE_H

#include <stddef.h>

#include "common/buf.h"
#include "wikiprep/site/dump_page.h"

struct title {
    int ns;
    int is_section;  /* it was "#section" alone: the page itself */
    struct buf text; /* without the namespace; spaces, not '_'; first letter upper case */
};

#define TITLE_INIT                                                                                 \
    {                                                                                              \
        0, 0, BUF_INIT                                                                             \
    }

/* Reads s[0..n): 1, or 0 when it is no title of this wiki (empty, a sign that titles may not have,
 * a prefix of another wiki). Without a prefix the namespace is `ns`; a colon in front says 0. */
int title_read(struct title *t, const struct dump_site *site, const char *s, size_t n, int ns);

/* Appends the namespace's name in this wiki ("" for articles), and the whole title. */
/* Whether pages of the namespace have subpages, by MediaWiki's defaults. */
int title_has_subpages(int ns);

void title_put_namespace(const struct dump_site *site, int ns, struct buf *out);
void title_put(const struct dump_site *site, const struct title *t, struct buf *out);

#endif
