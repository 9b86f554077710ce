/*
 * show.h - what calls of templates show, as show_table.c's table has them; not for others.
 */
#ifndef TEXTMILL_SHOW_H
#define TEXTMILL_SHOW_H

#include "common/buf.h"
#include "wikiprep/arguments.h"
#include "wikiprep/template.h"

/* One call being rendered. */
struct call {
    const struct template_page *page;
    const struct wikitext_call *source;
    const char *name; /* folded */
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

/* Renderers append to out and return 1, or 0 for nothing. `text` and `n` are the table's. */
typedef int renderer(const struct call *c, const char *text, int n, struct buf *out);

struct show_entry {
    const char *name; /* folded to lower case */
    renderer *render;
    const char *text;
    int n;
};

/* The entry of exactly this name, or NULL; and of "fr:unité", a name on the French wiki alone. */
const struct show_entry *show_find(const char *name);
const struct show_entry *show_find_local(const char *name);

/* show_text.c: arguments as they are, signs around them, places, quotations, notes */
renderer show_say, show_nth, show_last, show_nth_line, show_join, show_list_inline, show_list_lines,
    show_wrap, show_prefix, show_numbers, show_equals, show_title, show_sic, show_reading,
    show_sortname, show_bandiera, show_oldstyle, show_unichar, show_music, show_coord, show_ship,
    show_quote, show_hatnote, show_convert;

/* s as it is: whether it is something. */
int show_span(struct span s, struct buf *out);

/* The arguments from this place on that are not empty, `between` between them. */
int show_join_from(const struct call *c, int from, const char *between, struct buf *out);

/* show_language.c: other languages and how things are pronounced */
renderer show_langx, show_nihongo, show_nihongo3, show_chinese, show_ipa, show_ipa_ja, show_ipac,
    show_respell;

/* "Russian: водка, romanized: vodka, lit. 'little water'"; from is the place of the text. */
int show_named_language(const struct call *c, const char *code, size_t code_len, int from,
                        struct buf *out);

/* "German pronunciation: [ˈbɛʁliːn]"; place: of the sound, with how it is introduced behind it. */
int show_pronounced(const struct call *c, struct span code, int place, struct buf *out);

/* show_date.c */
renderer show_date, show_as_of, show_circa, show_years, show_marriage;

/* show_number.c */
renderer show_power, show_exp_it, show_fraction, show_grouped, show_val, show_misura, show_su,
    show_money, show_currency, show_ordinal, show_nuclide;

/* s as an exponent: "⁻¹". */
void show_superscript(struct span s, struct buf *out);

/* The numbers in s as the page's language writes them: "1,000", "1.000", "1 000". */
void show_grouped_span(const struct call *c, struct span s, struct buf *out);

#endif
