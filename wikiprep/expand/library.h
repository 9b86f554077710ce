/*
 * library.h - the template pages of a wiki, for those who expand calls of them.
 *
 * Read from an export: a whole dump, of which templates and modules are taken, pages that say what
 * of them is included, and the others of a small wiki; or an export of templates alone. Their texts
 * may be more than memory holds (spill.h); a template is parsed when it is
 * first called, and the tree kept. Safe for any number of threads.
 */
#ifndef TEXTMILL_WIKIPREP_EXPAND_LIBRARY_H
#define TEXTMILL_WIKIPREP_EXPAND_LIBRARY_H

#include <stdatomic.h>
#include <stdint.h>

#include "wikiprep/expand/preprocess.h"
#include "wikiprep/input/dump.h"
#include "wikiprep/site/magic.h"
#include "wikiprep/site/title.h"

enum { LIBRARY_TEMPLATES = 10, LIBRARY_MODULES = 828 };

/* What a call without arguments shows on any page. */
struct library_memo {
    const char *text;
    size_t n;
    int depth;       /* calls in calls in it */
    uint64_t work;   /* and what it cost */
    uint64_t within; /* a bit for each template in it (library_page.bit), or of another */
    size_t included;
};

struct library_page {
    int ns;
    const char *title; /* without the namespace */
    const char *text;
    size_t n;
    uint64_t bit; /* one of 64 */
    _Atomic(const struct tree *) tree;
    _Atomic(const struct library_memo *) memo;
};

struct library;

/* "-" is stdin. `language` overrules what the export says of its language, if it is not NULL. With
 * `save` the pages that are made to be called are also written there, as an export. NULL with the
 * error set. */
struct library *library_read(const char *path, const char *language, int threads, const char *save);
void library_free(struct library *l);

/* dump_trailing of the export. */
uint64_t library_trailing(const struct library *l);

const struct dump_site *library_site(const struct library *l);

/* The magic words of the wiki's language. */
const struct magic *library_magic(const struct library *l);

/* The latest timestamp of the wiki's pages: "2011-09-05T03:37:03Z". */
const char *library_date(const struct library *l);

/* How many pages there are, of articles and templates; a whole dump's pages are all counted. */
uint64_t library_articles(const struct library *l);
uint64_t library_pages(const struct library *l);

/* The page, with up to two redirects followed; NULL when there is none. */
struct library_page *library_find(const struct library *l, const struct title *t);

/* Whether there is a page with this title: 1, 0; what the export did not hold is not there. */
int library_exists(const struct library *l, const struct title *t);

/* The page's tree; the preprocessor is the thread's own. */
const struct tree *library_tree(struct library_page *page, struct preprocessor *p);

/* Keeps a memo, of which text is copied; does nothing when there is one, or no room. */
void library_remember(struct library *l, struct library_page *page, struct library_memo memo);

#endif
