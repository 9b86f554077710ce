/*
 * names.h - the meaning of link prefixes: [[File:…]], [[Catégorie:…]], [[de:…]], [[wikt:…]].
 *
 * The names of the Category namespace in the languages of the larger wikis are built in, because
 * old pages use aliases that <siteinfo> does not list, and copied text uses names of another
 * language. The wiki's own names are added and override them. The codes of Wikipedia's languages
 * and the prefixes of its sister projects are also built in.
 */
#pragma once

#include "wikiprep/values/span.h"

enum names_kind {
    NAMES_NONE, /* not a prefix but part of the title: [[Star Trek: Picard]] */
    NAMES_PAGE, /* any other namespace; such links are shown as text */
    NAMES_FILE,
    NAMES_CATEGORY,
    NAMES_LANGUAGE, /* the same page in another language */
    NAMES_PROJECT,  /* a page of another project */
};

struct names;

/* How titles begin: as they are written, with a capital letter, or with one of Turkish, where that
 * of "i" is "İ". names_capital_in returns what holds in a language, unless the wiki says "as
 * written". */
enum names_capital { NAMES_AS_WRITTEN, NAMES_CAPITAL, NAMES_CAPITAL_DOTTED };
enum names_capital names_capital_in(struct span lang);

/* capital: one of enum names_capital. */
struct names *names_new(int capital);
void names_free(struct names *names);
int names_capital(const struct names *names);

/* Writes a name to `out` in the form in which names are compared, with a NUL: each character
 * changed by `change` (NULL: unchanged), '_' and runs of spaces as one space, none at the ends, and
 * no marks of writing direction. Returns its length, or 0 if it is empty or too long. */
enum { NAMES_MAX_BYTES = 1024 }; /* no name is longer, and no heading that is looked for */
size_t names_fold(char out[NAMES_MAX_BYTES], struct span name, unsigned (*change)(unsigned));

/* Adds a name, or changes the kind of a known name. */
void names_add(struct names *names, struct span name, enum names_kind kind);

/* Returns the kind of a prefix, or NAMES_NONE. Thread-safe once no more names are added. */
enum names_kind names_find(const struct names *names, const char *prefix, size_t n);

/* Returns 1 if the names are equal, ignoring case and surrounding spaces, with '_' equal to a
 * space, else 0. The dotted and the dotless i of Turkish are equal to i, and the final sigma of
 * Greek to the other one. */
int names_equal(const char *a, size_t an, const char *b, size_t bn);

/* Returns 1 if one of the names in a list with `mark` between them is equal to it, else 0. */
int names_listed(const char *list, char mark, const char *name, size_t n);

/* Appends the title s[0..n) in the form that MediaWiki stores: runs of white space and '_'
 * become one space, those at the ends and marks of direction are dropped, and the first letter
 * becomes what `capital` says (enum names_capital). */
void names_add_title(struct buf *out, const char *s, size_t n, int capital);

/* Appends the title that a link's address names: "./Foo_%28bar%29" is "Foo (bar)". The address of a
 * page that does not exist has a query, which is left out. */
void names_add_href(struct buf *out, const char *href);
