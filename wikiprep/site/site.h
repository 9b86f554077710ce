/*
 * site.h - the wiki of one input dump, and the selection of its pages.
 */
#pragma once

#include "common/program/opt.h"
#include "wikiprep/sentences/sentence_model.h"
#include "wikiprep/site/dump_page.h"
#include "wikiprep/site/names.h"
#include "wikiprep/site/variant.h"

/* The selection that the options make. NULL and empty lists select everything. */
struct site_choice {
    const char *namespaces;                   /* numbers or names, comma-separated; NULL: all */
    const char *sections, *unwanted_sections; /* headings, comma-separated */
    struct opt_list categories;               /* names or "@FILE"s; '^' before a name excludes it */
    const char *language;       /* language code instead of the dump's; NULL: the dump's */
    const char *variant;        /* variant in which to show pages; NULL: do not convert */
    int sentences;              /* 1: split text into sentences */
    const char *sentence_model; /* file added to the sentence model; NULL: none */
};

struct site {
    struct names *names;          /* kinds of link prefixes */
    char *lang;                   /* language code */
    char *base;                   /* common start of its page addresses */
    char *about;                  /* description for the manifest */
    char *wanted, *unwanted;      /* language_sections; NULL: keep all, exclude none */
    struct variants *variants;    /* NULL: its language has none */
    struct sentence_model *model; /* NULL: do not split into sentences */

    int *namespaces; /* namespaces to keep; NULL: all */
    size_t namespace_count, namespaces_cap;
    struct nameset *categories, *unwanted_categories; /* NULL: keep all, exclude none */
};

/* Makes the site of a dump whose first page was read. Returns NULL with an error if the choice
 * names a missing namespace or an unreadable file. */
struct site *site_new(const struct dump_site *dump, const struct site_choice *choice);
void site_free(struct site *s);

int site_takes_namespace(const struct site *s, int key);

/* Returns 1 if a page in these categories is kept, else 0. `lines` has one category per line. */
int site_takes_categories(const struct site *s, const char *lines);
