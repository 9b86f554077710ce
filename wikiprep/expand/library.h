/*
 * library.h - the template pages of a wiki, used to expand template calls.
 *
 * A library is read from an export: a whole dump, or an export of templates only. From a whole dump
 * it keeps templates, modules and pages with include tags (<noinclude> and similar) or named
 * sections; from a small wiki also other pages. The texts may exceed memory (spill.h). A template
 * is parsed at its first call, and its tree is kept. Safe for any number of threads.
 */
#pragma once

#include <stdatomic.h>

#include "common/files/file.h"
#include "wikiprep/expand/preprocess.h"
#include "wikiprep/input/dump.h"
#include "wikiprep/site/magic.h"
#include "wikiprep/site/title.h"

enum { LIBRARY_MESSAGES = 8, LIBRARY_TEMPLATES = 10, LIBRARY_MODULES = 828 };

/* The expansion of a template call without arguments, when it is the same on every page. */
struct library_memo {
    const char *text;
    size_t n;
    int depth;     /* greatest nesting of expansions inside */
    uint64_t work; /* work that computing it took */
    /* One bit per template used in it (library_page.bit). Templates may share a bit. */
    uint64_t within;
    size_t included; /* bytes of templates included in it */
};

struct library_page {
    int ns;
    const char *title; /* without the namespace */
    const char *text;
    uint64_t at; /* offset of `text` in the texts of all pages */
    size_t n;
    uint64_t bit; /* a single set bit, chosen by a hash of the title */
    _Atomic(const struct tree *) tree;
    _Atomic(const struct library_memo *) memo;
};

struct library;

/* Reads a library from the files of a dump. `language`, if not NULL, overrides the language that
 * the export states. If `save` is not NULL, the callable pages (templates, modules, pages with
 * include tags or named sections) are also written to that file, as an export. Returns NULL with an
 * error. */
struct library *library_read(const struct file_names *from, const char *language, int threads,
                             const char *save);
void library_free(struct library *l);

/* Facts about the wiki, from its export. */
struct library_facts {
    struct dump_site site;
    struct nameset *magic;    /* the magic words of its language */
    struct buf date;          /* latest timestamp of its pages: "2011-09-05T03:37:03Z" */
    uint64_t articles, pages; /* articles, without redirects; all pages, kept or not */
    int books; /* namespace of the pages of scanned books (model "proofread-page"), or 0 */
};
const struct library_facts *library_facts(const struct library *l);

/* Returns the page with title t after following up to two redirects; NULL if there is none. */
struct library_page *library_find(const struct library *l, const struct title *t);

/* Returns 1 if the export has a page with title t, else 0. */
int library_exists(const struct library *l, const struct title *t);

/* Returns the page's syntax tree. Parses the page first if that was not done yet. p is a
 * preprocessor of the calling thread. */
const struct tree *library_tree(struct library_page *page, struct preprocessor *p);

/* Stores a memo of the page; its text is copied. Does nothing if the page has one already or the
 * memory for memos is used up. */
void library_remember(struct library *l, struct library_page *page, struct library_memo memo);
