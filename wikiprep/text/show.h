/*
 * show.h - what a call of a template shows: the tables made of wikiprep/languages, and
 * the functions that their rows name with "@". For template.c and show_*.c alone.
 */
#ifndef TEXTMILL_WIKIPREP_TEXT_SHOW_H
#define TEXTMILL_WIKIPREP_TEXT_SHOW_H

#include "common/buf.h"
#include "wikiprep/text/arguments.h"
#include "wikiprep/text/call.h"

/* One call being shown. */
struct call {
    const struct template_page *page;
    const struct wikitext_call *source;
    const char *name; /* as its row has it: in lower case but for codes, "USA" */
    struct span star; /* what the '*' in the row's name stands for; in `name` */
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

/* Renderers append to out and return 1, or 0 for nothing. `text` and `n` are the row's. */
typedef int renderer(const struct call *c, const char *text, int n, struct buf *out);

struct show_entry {
    const char *name; /* "LANG:NAME"; LANG is empty for all wikis */
    renderer *render;
    const char *text;
    int n;
};

/* A row with a '*' in its name. */
struct show_starred {
    const char *lang;
    int star; /* where the '*' is in row.name */
    struct show_entry row;
};

extern const struct show_entry show_entries[]; /* sorted by name */
extern const size_t show_entries_count;
extern const struct show_starred show_starred[]; /* the longest name first */
extern const size_t show_starred_count;

/* The row of this name, of the wiki with this language; "" for all wikis. Those with
 * a star are not looked at. NULL when there is none. */
const struct show_entry *show_find(const char *lang, const char *name);

/* show_pattern.c: what is written as a pattern; text is the pattern */
renderer show_pattern;

/* show_text.c: arguments as they are, lists, signs, places, ships, quotations, notes */
renderer show_nth, show_last, show_line, show_list, show_numbers, show_equals, show_sic,
    show_bandiera, show_unichar, show_music, show_coord, show_ship, show_ship_of_type, show_quote,
    show_hatnote, show_convert, show_cvt;

/* s as it is: whether it is something. */
int show_span(struct span s, struct buf *out);

/* The arguments from this place on that are not empty, `between` between them. */
int show_join_from(const struct call *c, int from, const char *between, struct buf *out);

/* show_language.c: other languages and how things are pronounced */
renderer show_langx, show_lang_family, show_nihongo, show_nihongo3, show_chinese, show_ipa,
    show_ipa_family, show_ipa_ja, show_ipac, show_respell;

/* show_date.c */
renderer show_date, show_date_and_age, show_age, show_as_of, show_marriage, show_day;

/* The month that s is in the language of the page, or its number: 0 to 11; -1 when it is none. */
int show_month_of(const struct call *c, struct span s);

/* show_number.c */
renderer show_fraction, show_val, show_currency, show_ordinal, show_unit;

/* s as an exponent: "⁻¹". */
void show_superscript(struct span s, struct buf *out);

/* The numbers in s as the page's language writes them: "1,000", "1.000", "1 000". */
void show_grouped_span(const struct call *c, struct span s, struct buf *out);

#endif
