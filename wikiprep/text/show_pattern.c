/* Renders the patterns of wikiprep/languages; the file "common" there explains their syntax. */

#include "common/base/order.h"
#include "unicode/letter_case.h"
#include "wikiprep/site/language.h"
#include "wikiprep/text/markup.h"
#include "wikiprep/text/show.h"
#include "wikiprep/values/calendar.h"
#include "wikiprep/values/figure.h"
#include "wikiprep/values/number.h"

enum { KEY_MAX_BYTES = 96 }; /* length of "LANG:NAME"; no row is longer */

const struct show_entry *show_find(const char *lang, const char *name)
{
    char text[KEY_MAX_BYTES], *key = text;
    size_t before = strlen(lang), after = strlen(name);
    if (before + after + 2 > sizeof text)
        return NULL;
    memcpy(key, lang, before);
    key[before] = ':';
    memcpy(key + before + 1, name, after + 1);
    return bsearch(&key, show_entries, show_entries_count, sizeof *show_entries, order_texts);
}

/* A pattern that is being rendered. No byte of the call is written more than once, so time stays
 * linear for nested calls, whatever the pattern. */
struct run {
    const struct call *c;
    struct buf *out;
    size_t left; /* bytes of the call that may still be written */
};

/* ---- arguments ------------------------------------------------------------------------------- */

/* Appends the text of the row for the country's code s, "USA = United States", else the name of
 * language_country, else s itself. Returns 1 if something was appended, else 0. */
static int put_country(struct run *r, struct span s)
{
    char code[8] = "";
    const char *end = s.s + s.n;
    if (span_past(s.s, end, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == end)
        span_copy(s, code, sizeof code);
    const struct show_entry *e = show_find(r->c->page->lang, code);
    if (e && e->render == show_pattern && !strpbrk(e->text, "$[\\"))
        return show_span(span_of(e->text), r->out);
    struct span name = language_country(span_of(code), r->c->page->lang);
    return show_span(name.n ? name : s, r->out);
}

/* Appends s, changed as `how` says: the word after "!" in "${...!how}". Returns 1 if something was
 * appended, else 0. */
static int put_changed(struct run *r, struct span s, struct span how)
{
    const char *lang = r->c->page->lang;
    int year, month;
    if (span_is(how, "number"))
        number_show(s, lang, r->out);
    else if (span_is(how, "raise"))
        figure_put_raised(r->out, s);
    else if (span_is(how, "month") && (month = show_month_of(r->c, s)))
        span_put(calendar_name(lang, CALENDAR_MONTH_GENITIVE, month - 1), r->out);
    else if (span_is(how, "language"))
        return show_language_name(r->c, s, r->out);
    else if (span_is(how, "country"))
        return put_country(r, s);
    else if (span_is(how, "upper"))
        letter_case_put(r->out, s.s, s.n, letter_case_upper);
    else if (span_is(how, "lower"))
        letter_case_put(r->out, s.s, s.n, letter_case_lower);
    else if (span_is(how, "decade")) { /* "1980" for "1987" */
        if (!span_number(s, &year))
            return 0;
        buf_addf(r->out, "%d", year - year % 10);
    } else
        return show_span(s, r->out);
    return s.n > 0;
}

/* Appends the value of s in the map "a=x,b=y,*=z"; "*" matches any s. Returns 1, or 0 if s is not
 * in the map. */
static int put_mapped(struct run *r, struct span s, struct span map)
{
    for (const char *p = map.s, *end = map.s + map.n; p < end;) {
        const char *stop = span_until(p, end, ','), *equals = span_until(p, stop, '=');
        struct span word = span_between(p, equals);
        int any = word.n == 1 && *word.s == '*';
        if (equals < stop && (any || span_equal(word, s))) {
            span_put(span_between(equals + 1, stop), r->out);
            return 1;
        }
        p = stop + 1;
    }
    return 0;
}

/* Returns the value of the first of `keys` that is given, or an empty span. "0" is the call's name;
 * "*" is c->star. */
static struct span value_of(const struct call *c, struct span keys)
{
    char text[64];
    if (!span_copy(keys, text, sizeof text))
        return (struct span){ "", 0 };
    if (!strcmp(text, "*"))
        return c->star;
    if (!strcmp(text, "0"))
        return span_trim(c->source->name);
    return call_any(c, text);
}

/* Appends all arguments from position `from` on. `between` is the separator; a "!how" at its end
 * names the change to make to each argument (put_changed). Returns 1 if something was appended,
 * else 0. */
static int put_all(struct run *r, int from, struct span between)
{
    const size_t begin = r->out->len;
    const char *end = between.s + between.n, *bang = span_until(between.s, end, '!');
    struct span how = span_between(bang + (bang < end), end);
    between = span_between(between.s, bang);
    for (int i = from; i <= r->c->a.count; i++) {
        struct span s = call_at(r->c, i);
        if (!s.n || s.n > r->left)
            continue;
        if (r->out->len > begin)
            span_put(between, r->out);
        r->left -= s.n;
        put_changed(r, s, how);
    }
    return r->out->len > begin;
}

/* Appends the value of the argument that `keys` names (value_of). sign says how: 0 as it is; '!'
 * changed as `rest` says (put_changed); ':' replaced by its entry in the map `rest` (put_mapped);
 * '+' with all arguments after it, separated by `rest` (put_all). Returns 1 if something was
 * written, else 0. */
static int put_value(struct run *r, struct span keys, char sign, struct span rest)
{
    int from;
    if (sign == '+')
        return span_number(keys, &from) && put_all(r, from, rest);
    struct span s = value_of(r->c, keys);
    if (sign == ':')
        return s.n && put_mapped(r, s, rest);
    if (!s.n || s.n > r->left)
        return 0;
    r->left -= s.n;
    return sign == '!' ? put_changed(r, s, rest) : show_span(s, r->out);
}

/* Appends the argument whose name begins at p, after '$'. Returns the end of the name. Sets *given
 * to 1 if something was written, else to 0. */
static const char *put_argument(struct run *r, const char *p, int *given)
{
    if (!strncmp(p, "title", 5)) {
        *given = show_span(span_of(r->c->page->title), r->out);
        return p + 5;
    }
    if (*p != '{') {
        *given = put_value(r, (struct span){ p, 1 }, 0, (struct span){ "", 0 });
        return p + 1;
    }
    struct span keys = { p + 1, strcspn(p + 1, "!:+}") };
    const char *sign = keys.s + keys.n;
    struct span rest = { sign + 1, *sign == '}' ? 0 : strcspn(sign + 1, "}") };
    *given = put_value(r, keys, *sign, rest);
    return *sign == '}' ? sign + 1 : rest.s + rest.n + 1;
}

/* ---- patterns -------------------------------------------------------------------------------- */

static const char *put_choice(struct run *r, const char *p);

/* Appends the text that the pattern at p gives, up to its end or to one of the characters `stops`.
 * Returns the position where it stopped. Sets *all to 1 if all arguments that stand directly in
 * this part of the pattern (not inside its brackets) are given, else to 0. */
static const char *put_sequence(struct run *r, const char *p, const char *stops, int *all)
{
    *all = 1;
    while (*p && !strchr(stops, *p)) {
        if (*p == '\\' && p[1] == 'n') {
            buf_adds(r->out, "\n\n");
            p += 2;
        } else if (*p == '\\' && (p[1] == '<' || p[1] == '>')) {
            buf_addc(r->out, MARKUP_ASIDE);
            p += 2;
        } else if (*p == '[') {
            p = put_choice(r, p + 1);
        } else if (*p == '$') {
            int given;
            p = put_argument(r, p + 1, &given);
            *all &= given;
        } else {
            p += *p == '\\' && p[1];
            buf_addc(r->out, *p == '\'' ? 1 : *p == '=' ? 2 : *p); /* markup.h's stand-ins */
            p++;
        }
    }
    return p;
}

/* Appends the first alternative of "a|b]" whose arguments are all given. Returns the position after
 * "]". */
static const char *put_choice(struct run *r, const char *p)
{
    for (int done = 0;; p++) {
        const size_t mark = r->out->len, left = r->left;
        int all;
        p = put_sequence(r, p, "|]", &all);
        if (done || !all) {
            buf_truncate(r->out, mark);
            r->left = left;
        }
        done |= all;
        if (*p != '|')
            return p + (*p == ']');
    }
}

int show_pattern(const struct call *c, struct buf *out)
{
    struct run r = { c, out, c->source->name.n };
    const size_t mark = out->len;
    int all;
    for (size_t i = 0; i < c->source->count; i++)
        r.left += c->source->arguments[i].n;
    put_sequence(&r, c->text, "", &all);
    if (!all)
        buf_truncate(out, mark);
    return out->len > mark;
}
