#include "wikiprep/text/template.h"

#include <ctype.h>
#include <strings.h>

#include "common/base/lines.h"
#include "common/base/utf8.h"
#include "unicode/letter_case.h"
#include "unicode/unicode.h"
#include "wikiprep/site/language.h"
#include "wikiprep/site/names.h"
#include "wikiprep/text/show.h"
#include "wikiprep/values/knowledge.h"
#include "wikiprep/values/marks.h"

/* Writes a template's name without "Template:" to `out` as names_fold does. Returns its length. */
static size_t fold(char out[NAMES_MAX_BYTES], struct span name, unsigned (*change)(unsigned))
{
    name = span_trim(name);
    if (name.n > 9 && !strncasecmp(name.s, "template:", 9))
        name = span_trim((struct span){ name.s + 9, name.n - 9 });
    return names_fold(out, name, change);
}

/* Returns the row with a '*' that matches the name, and sets *star to the text that the '*'
 * matches; NULL if there is none. */
static const struct show_entry *find_starred(const char *lang, const char *name, size_t len,
                                             struct span *star)
{
    for (size_t i = 0; i < show_starred_count; i++) {
        const struct show_starred *s = &show_starred[i];
        if (*s->lang != *lang || (s->star && *s->row.name != *name))
            continue;
        const char *after = s->row.name + s->star + 1;
        size_t before = (size_t)s->star, after_len = strlen(after);
        if (len > before + after_len && !memcmp(name, s->row.name, before) &&
            !memcmp(name + len - after_len, after, after_len) && !strcmp(lang, s->lang)) {
            *star = span_trim((struct span){ name + before, len - before - after_len });
            return &s->row;
        }
    }
    return NULL;
}

/* Returns the row with exactly this name, from the rows for the wiki's own language or else from
 * those for all wikis; NULL if there is none. */
static const struct show_entry *find_exact(const char *lang, const char *name)
{
    const struct show_entry *e = *lang ? show_find(lang, name) : NULL;
    return e ? e : show_find("", name);
}

/* Returns the row for a call of the template `given`, or NULL. Sets `name` to the name in the form
 * of the row, and *star to the part of `name` that matches the row's '*'. A name in capitals is
 * looked up first as it is and then, unless it is a country's code, "BRA", in lower case. */
static const struct show_entry *find_row(const struct template_page *page, struct span given,
                                         char name[NAMES_MAX_BYTES], struct span *star)
{
    const char *lang = knowledge_language(page->lang);
    const struct show_entry *e = NULL;
    struct span bare = span_trim(given);
    *star = (struct span){ "", 0 };
    if (bare.n > 1 && (isupper((unsigned char)bare.s[1]) || bare.s[1] & 0x80) &&
        fold(name, given, NULL) &&
        ((e = find_exact(lang, name)) || language_country(bare, lang).n ||
         (e = find_starred(lang, name, strlen(name), star))))
        return e;
    size_t len = fold(name, given, letter_case_lower);
    if (!len) /* too long for any row */
        return NULL;
    if ((e = find_exact(lang, name)) || (e = find_starred(lang, name, len, star)))
        return e;
    return find_starred("", name, len, star);
}

enum template_choice template_choose(const struct template_page *page, struct span given)
{
    char name[NAMES_MAX_BYTES];
    struct span star;
    const struct show_entry *e = find_row(page, given, name, &star);
    if (!e)
        return TEMPLATE_GUESSED;
    return e->render == show_hatnote && !page->hatnotes ? TEMPLATE_RENDERED
                                                        : TEMPLATE_EXPANDED_FIRST;
}

/* Returns 1 if s may be part of a sentence, or is a pronunciation, "/b/". Returns 0 if it looks
 * like a key, a number (of any script's digits) or an address. */
static int is_prose(struct span s)
{
    if (s.n > 2 && s.s[0] == '/' && s.s[s.n - 1] == '/')
        return 1;
    int letters = 0, gaps = 0, others = 0, digit;
    for (size_t i = 0, n; i < s.n; i += n ? n : 1) {
        n = span_digit(span_between(s.s + i, s.s + s.n), &digit);
        letters |= isalpha((unsigned char)s.s[i]);
        gaps |= i + 1 < s.n && s.s[i] == ' ';
        others |= !n && (unsigned char)s.s[i] >= 0x80;
        if (strchr("\n|", s.s[i]) || s.s[i] == MARKUP_BREAK || s.s[i] == MARKUP_PIPE)
            return 0;
    }
    return (others || (letters && gaps)) && !memmem(s.s, s.n, "://", 3);
}

/* Appends the text of a template that is named for a language or a country: {{de}}, {{de|Wort}},
 * {{USA}}. Returns 1, or 0 if it is none. */
static int show_code(const struct call *c, struct span name, struct span first, struct buf *out)
{
    struct span country = language_country(name, c->page->lang);
    if (country.n)
        return !span_is(first, "#") && show_span(country, out);
    enum { CODE_MAX = 3 };
    size_t n = strlen(c->name);
    if (n < 2 || n > CODE_MAX || name.n != n || name.s[1] != c->name[1]) /* {{EU}} */
        return 0;
    const char *english = language_name(c->name, n, "en");
    const char *language = language_name(c->name, n, c->page->lang);
    if (english && first.n) /* but {{lb|zh|動物}} in a Wiktionary has the code of another */
        return !(call_at(c, 2).n && language_name(first.s, first.n, "en")) && show_span(first, out);
    if (!language || language == english)
        return 0;
    buf_addf(out, "%c(%s)%c", MARKUP_ASIDE, language, MARKUP_ASIDE);
    return 1;
}

/* Returns 1 if s seems to be the content of a box or a column: it has two items of a list, or is
 * long and has three sentences or lines. */
static int is_content(struct span s)
{
    enum { ITEMS_LEAST = 2, ENDS_LEAST = 3, PROSE_LEAST = 200 };
    int items = 0, ends = 0;
    struct lines l = LINES_OF(s.s, s.n);
    for (; lines_next(&l); ends++) {
        items += l.len && strchr("*#:;", *l.line);
        unsigned c;
        for (const char *p = l.line, *end = p + l.len; s.n >= PROSE_LEAST && p < end;) {
            p += utf8_read(p, (size_t)(end - p), &c);
            ends += p < end && unicode_is(c, UNICODE_IS_SENTENCE_TERMINAL) &&
                    (c >= 0x80 || *p == ' ');
        }
    }
    return items >= ITEMS_LEAST || (s.n >= PROSE_LEAST && ends >= ENDS_LEAST);
}

/* Appends the arguments that are the content of a box or of columns, and returns 1. Returns 0 if
 * there is none, or if more than one other argument has text that does not begin with a digit. */
static int show_framed(const struct call *c, struct buf *out)
{
    const size_t begin = out->len;
    int others = 0, digit;
    for (size_t i = 0; i < c->source->count && others < 2; i++) {
        struct span key, value;
        arguments_split(c->source->arguments[i], &key, &value);
        if (is_content(value)) {
            buf_addc(out, '\n');
            span_put(value, out);
            buf_addc(out, '\n');
        } else {
            others += value.n && !span_digit(value, &digit);
        }
    }
    if (others > 1)
        buf_truncate(out, begin);
    return out->len > begin;
}

/* Appends the text of a template that has no rule, and returns 1, or returns 0 if it seems to show
 * none. Guesses from the call: in a sentence, {{a. d.}} shows its name, and {{name|some words}}
 * shows the words. */
static int show_unknown(const struct call *c, struct buf *out)
{
    struct span name = span_trim(c->source->name), first = call_at(c, 1);
    if (memchr(name.s, ':', name.n) || memchr(name.s, '#', name.n) || memchr(name.s, '/', name.n))
        return 0; /* functions, and tables on subpages */
    if (show_code(c, name, first, out) || show_framed(c, out))
        return 1;
    if (!c->source->in_sentence)
        return 0;
    if (!c->source->count && name.n && name.s[name.n - 1] == '.')
        return show_span(name, out);
    return is_prose(first) && show_span(first, out);
}

int template_render(void *ctx, const struct wikitext_call *source, struct buf *out)
{
    const struct template_page *page = ctx;
    char name[NAMES_MAX_BYTES];
    struct call c;
    const struct show_entry *e = find_row(page, source->name, name, &c.star);
    c.page = page;
    c.source = source;
    c.name = name;
    arguments_read(&c.a, source);
    if (e && e->render == show_hatnote && !c.a.count && call_any(&c, "name|nome|nombre").n)
        e = show_find("", "listing"); /* {{see|name=Louvre|content=…}} in a travel guide */
    c.text = e ? e->text : "";
    c.n = e ? e->n : 0;
    int shown = e ? e->render(&c, out) : show_unknown(&c, out);
    arguments_release(&c.a);
    return shown;
}
