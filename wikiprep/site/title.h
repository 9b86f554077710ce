/*
 * title.h - page titles as MediaWiki reads them: "template:foo_bar#x" is "Foo bar" in namespace 10.
 */
#pragma once

#include "wikiprep/site/dump_page.h"

struct title {
    int ns;
    int is_section;  /* 1 if the input was only "#section", which means the same page */
    struct buf text; /* without namespace; no '_'; first letter as the wiki stores it */
};

#define TITLE_INIT                                                                                 \
    {                                                                                              \
        0, 0, BUF_INIT                                                                             \
    }

/* Reads the title s[0..n) into *t. Returns 1, or 0 if it is not a title of this wiki: empty, or
 * with a character or path that titles cannot have. A title without a prefix is in namespace `ns`;
 * a leading colon means namespace 0. */
int title_read(struct title *t, const struct dump_site *site, const char *s, size_t n, int ns);

/* Returns 1 if pages of the namespace have subpages, else 0. Articles have them in Wikisource,
 * Wikibooks, Wikiversity and the wikis of MediaWiki and Wikimedia. */
int title_has_subpages(const struct dump_site *site, int ns);

/* Appends the whole title. */
void title_put(const struct dump_site *site, const struct title *t, struct buf *out);
