/*
 * show.h - the text of template calls: the tables generated from wikiprep/languages, and the
 * functions that the table rows name with "@". Only for template.c and show_*.c.
 */
#pragma once

#include "wikiprep/text/arguments.h"
#include "wikiprep/text/call.h"

/* The call that is being rendered. */
struct call {
    const struct template_page *page;
    const struct wikitext_call *source;
    const char *name; /* as in its table row: lower case, except codes such as "USA" */
    struct span star; /* part of `name` that matches the row's '*' */
    const char *text; /* from the table row */
    int n;
    struct arguments a;
};

static inline struct span call_at(const struct call *c, int place)
{
    return arguments_at(&c->a, place);
}

static inline struct span call_any(const struct call *c, const char *keys)
{
    return arguments_any(&c->a, keys);
}

/* A renderer appends the text of the call to out and returns 1, or returns 0 if there is none. */
typedef int renderer(const struct call *c, struct buf *out);

struct show_entry {
    const char *name; /* "LANG:NAME"; LANG is empty in rows for all wikis */
    renderer *render;
    const char *text;
    int n;
};

/* A table row with a '*' in its name. The '*' matches any text. */
struct show_starred {
    const char *lang;
    int star; /* offset of the '*' in row.name */
    struct show_entry row;
};

extern const struct show_entry show_entries[]; /* sorted by name */
extern const size_t show_entries_count;
extern const struct show_starred show_starred[]; /* longest name first */
extern const size_t show_starred_count;

/* Returns the row with this exact name for wikis in the language `lang`, or NULL. lang "" finds the
 * rows for all wikis. Rows with a '*' are not searched. */
const struct show_entry *show_find(const char *lang, const char *name);

/* show_pattern.c: rows with a pattern; `text` is the pattern */
renderer show_pattern;

/* show_text.c: arguments, lists, coordinates, quotations, hatnotes */
renderer show_nth, show_list, show_unichar, show_coord, show_description, show_formula, show_quote,
    show_hatnote;

/* show_span appends s; show_after appends `before` and s. If s is empty, both append nothing and
 * return 0; else they return 1. */
int show_span(struct span s, struct buf *out);
int show_after(const char *before, struct span s, struct buf *out);

/* Appends all non-empty arguments, with `between` between them. Returns 1 if there is at least one,
 * else 0. */
int show_join(const struct call *c, const char *between, struct buf *out);

/* show_language.c: foreign words and pronunciations */
renderer show_langx, show_nihongo, show_ipa, show_ipac, show_respell;

/* Appends the name of the language with this code, in the page's language. Returns 1, or 0 if it is
 * not known. */
int show_language_name(const struct call *c, struct span code, struct buf *out);

/* show_date.c */
renderer show_date, show_date_and_age, show_year_and_age, show_age, show_as_of, show_day;

/* Returns the month (1 to 12) that s names in the page's language or gives as a number, or 0 if s
 * is not a month. */
int show_month_of(const struct call *c, struct span s);

/* show_convert.c */
renderer show_convert;

/* show_number.c */
renderer show_val, show_ordinal, show_unit;
