/*
 * site.h - one dump of those that are read: what its wiki is, and which of its pages are taken.
 */
#ifndef TEXTMILL_WIKIPREP_SITE_SITE_H
#define TEXTMILL_WIKIPREP_SITE_SITE_H

#include "common/opt.h"
#include "wikiprep/sentences/sentence_model.h"
#include "wikiprep/site/dump_page.h"
#include "wikiprep/site/names.h"
#include "wikiprep/site/section.h"

/* As the options say it; NULL and empty lists: no choice is made. */
struct site_choice {
    const char *namespaces;                   /* numbers or names, commas between; NULL: all */
    const char *sections, *unwanted_sections; /* headings, commas between */
    struct opt_list categories;               /* names or "@FILE"s; '^' in front: not these */
    const char *language;                     /* overrules the dump's; NULL: it does not */
    int sentences;                            /* text is split into sentences: a model is wanted, */
    const char *sentence_model;               /* with what this file says; NULL: with none */
};

struct site {
    struct names *names;                    /* what prefixes mean */
    char *lang;                             /* the code of its language */
    char *base;                             /* what its pages' addresses begin with */
    char *about;                            /* for the manifest */
    struct section_list *wanted, *unwanted; /* NULL: all, none */
    struct sentence_model *model;           /* NULL: none is wanted */

    int *namespaces; /* NULL: all */
    size_t namespace_count, namespaces_cap;
    struct nameset *categories, *unwanted_categories; /* NULL: all, none */
};

/* The dump's site, once its first page was read; NULL where the choice names what is not there. */
struct site *site_new(const struct dump_site *dump, const struct site_choice *choice);
void site_free(struct site *s);

int site_takes_namespace(const struct site *s, int key);

/* Whether a page is taken that is in these categories (a line each). */
int site_takes_categories(const struct site *s, const char *lines);

#endif
