/* show.h's renderers: arguments, lists, coordinates, quotations, hatnotes. */
#include "common/base/utf8.h"
#include "wikiprep/text/show.h"

#include <ctype.h>

#include "wikiprep/text/markup.h"
#include "wikiprep/text/paragraph.h"
#include "wikiprep/text/structure.h"

/* ---- simple renderers ---------------------------------------------------------------------- */

int show_after(const char *before, struct span s, struct buf *out)
{
    buf_adds(out, s.n ? before : "");
    span_put(s, out);
    return s.n > 0;
}

int show_span(struct span s, struct buf *out)
{
    return show_after("", s, out);
}

/* Shows the first given argument that the row's text names, else argument c->n. A list of several
 * lines begins a line, as in {{plainlist}}, and ends with one. */
int show_nth(const struct call *c, struct buf *out)
{
    struct span s = call_any(c, c->text);
    s = s.n ? s : call_at(c, c->n);
    const int is_list = s.n && strchr("*#:;", *s.s) && memchr(s.s, '\n', s.n);
    buf_adds(out, is_list ? "\n" : "");
    span_put(s, out);
    buf_adds(out, is_list ? "\n" : "");
    return s.n > 0;
}

int show_join(const struct call *c, const char *between, struct buf *out)
{
    size_t begin = out->len;
    for (int i = 1; i <= c->a.count; i++)
        show_after(out->len > begin ? between : "", call_at(c, i), out);
    return out->len > begin;
}

int show_list(const struct call *c, struct buf *out)
{
    static const char line[] = { MARKUP_BREAK, '\0' };
    buf_adds(out, line);
    if (!show_join(c, line, out))
        return 0;
    buf_adds(out, line);
    return 1;
}

int show_unichar(const struct call *c, struct buf *out)
{
    char hex[9], *end;
    struct span s = call_at(c, 1);
    if (!s.n || !span_copy(s, hex, sizeof hex))
        return 0;
    unsigned long code = strtoul(hex, &end, 16);
    if (*end || code < 0x20 || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF)
        return 0;
    buf_adds(out, "U+");
    span_put(s, out);
    if (code > 0xA0) {
        buf_addc(out, ' ');
        utf8_add(out, (unsigned)code);
    }
    show_after(" ", call_at(c, 2), out);
    return 1;
}

/* ---- places -------------------------------------------------------------------------------- */

/* Appends a latitude or longitude, which begins at argument `from`: 46|12|N is 46°12′N, 46.2|N is
 * 46.2°N. `letters` are the letters that may end it, such as "NSns". Sets *degrees. Returns the
 * position of the next argument, or 0 if there is no such value. */
static int put_angle(const struct call *c, int from, const char *letters, struct buf *out,
                     double *degrees)
{
    static const char *const signs[] = { "°", "′", "″" };
    static const double parts[] = { 1, 60, 3600 };
    int i = 0;
    *degrees = 0;
    while (i < 3 && call_at(c, from + i).n && strchr("0123456789.", *call_at(c, from + i).s)) {
        span_put(call_at(c, from + i), out);
        *degrees += strtod(call_at(c, from + i).s, NULL) / parts[i];
        buf_adds(out, signs[i++]);
    }
    while (i && i < 3 && !call_at(c, from + i).n)
        i++; /* 46|12||N has no seconds */
    struct span letter = call_at(c, from + i);
    if (!i || letter.n != 1 || !strchr(letters, *letter.s))
        return 0;
    span_put(letter, out);
    if (strchr("SsWwOo", *letter.s)) /* "O": in French, Italian and others */
        *degrees = -*degrees;
    return from + i + 1;
}

/* Appends degrees, "-46.2" as "46.2°S"; `plus` or `minus` is the letter. Returns the value. */
static double put_signed(struct span s, char plus, char minus, struct buf *out)
{
    int negative = s.n && (*s.s == '-' || *s.s == '\x0C');
    if (negative)
        s.s++, s.n--;
    span_put(s, out);
    buf_addf(out, "°%c", negative ? minus : plus);
    return negative ? -strtod(s.s, NULL) : strtod(s.s, NULL);
}

/* Appends latitude and longitude and sets at[] to them in degrees. Returns 1, or 0 if the call has
 * none. */
static int put_coordinates(const struct call *c, struct buf *out, double at[2])
{
    size_t begin = out->len;
    int next = put_angle(c, 1, "NSns", out, &at[0]);
    if (next) {
        buf_addc(out, ' ');
        next = put_angle(c, next, "EWewOo", out, &at[1]);
    }
    if (next)
        return 1;
    buf_truncate(out, begin);
    const struct span lat = call_any(c, "1|lat"), lon = call_any(c, "2|long");
    if (c->a.count > 4 || !lat.n || !lon.n || !isdigit((unsigned char)lat.s[lat.n - 1]) ||
        !isdigit((unsigned char)lon.s[lon.n - 1]))
        return 0;
    at[0] = put_signed(lat, 'N', 'S', out);
    buf_addc(out, ' ');
    at[1] = put_signed(lon, 'E', 'W', out);
    return 1;
}

/* As put_coordinates, for values such as "50/56/33/N". */
static int put_slashed(const struct call *c, struct buf *out, double at[2])
{
    enum { PARTS_MAX = 8 };
    char text[64];
    struct span part[PARTS_MAX + 1], lat = call_any(c, "1|NS"), lon = call_any(c, "2|EW");
    struct call split = *c;
    if (!call_any(c, "NS").n && !memchr(lat.s, '/', lat.n))
        return 0;
    snprintf(text, sizeof text, "%.*s/%.*s", (int)lat.n, lat.s, (int)lon.n, lon.s);
    split.a.at = part;
    split.a.count = 0;
    for (const char *s = text; split.a.count < PARTS_MAX && span_next(&s, '/', &lat);)
        part[++split.a.count] = lat;
    return put_coordinates(&split, out, at);
}

/* Shows coordinates, unless they are to appear only beside the page's title. Coordinates beside the
 * title are also kept as the page's own. The row's text says where those without display= are;
 * those with text= are in the text, and beside the title if there is article=, too. */
int show_coord(const struct call *c, struct buf *out)
{
    const struct span given = call_any(c, "display"), display = given.n ? given : span_of(c->text);
    const int in_text = call_any(c, "text").n > 0;
    int is_inline = in_text || !display.n || span_in(display, "i|it|ti") ||
                    memmem(display.s, display.n, "inline", 6);
    int is_title = in_text
                       ? call_any(c, "article").n > 0
                       : span_in(display, "t|it|ti") || memmem(display.s, display.n, "title", 5);
    struct page_parts *parts = c->page->parts;
    size_t begin = out->len;
    double at[2];
    if (!is_inline && !parts)
        return 0;
    int shown = put_coordinates(c, out, at) || put_slashed(c, out, at);
    if (shown && parts && is_title)
        structure_coordinates(&parts->json[PART_COORDINATES], at);
    if (!is_inline)
        buf_truncate(out, begin);
    return shown && is_inline;
}

/* Keeps the page's short description as one of its parts, and shows nothing. */
int show_description(const struct call *c, struct buf *)
{
    struct page_parts *parts = c->page->parts;
    struct span text = call_at(c, c->n);
    if (parts && text.n && !span_is(text, "none") && !parts->json[PART_DESCRIPTION].len)
        structure_text(&parts->json[PART_DESCRIPTION], text);
    return 0;
}

/* Shows TeX as <math> does: nothing, unless formulas are wanted. */
int show_formula(const struct call *c, struct buf *out)
{
    const int mark = c->page->markdown ? MARKUP_FORMULA : MARKUP_EMPTY;
    if (!c->page->formulas)
        return 0;
    const struct span tex = call_at(c, 1);
    buf_addc(out, mark);
    for (size_t i = 0; i < tex.n; i++)
        buf_addc(out, tex.s[i] == '\n' ? ' ' : paragraph_sign(tex.s[i]));
    buf_addc(out, mark);
    return 1;
}

/* ---- quotations, notes --------------------------------------------------------------------- */

/* Shows a quotation as a separate paragraph, with its source: "— Author, Source". */
int show_quote(const struct call *c, struct buf *out)
{
    struct span said = call_any(c, "text|quote|content|testo|1");
    struct span by[] = { call_any(c, "author|sign|cite|by|autore"), call_any(c, "title|opera"),
                         call_any(c, "source|publication|fonte") };
    const struct span second = call_at(c, 2); /* {{cquote|text|20px|20px|author|source}} */
    const int box = strstr(c->name, "box") != NULL;
    const int at = second.n && !bytes_end(second.s, second.n, "px") ? 2 : 4;
    const int all = !said.n && !by[0].n && !by[1].n && !by[2].n;
    for (int i = 0; all && i < c->a.named_count; i++) {
        const struct span value = c->a.named[i].value;
        if (value.n > said.n && memchr(value.s, ' ', value.n)) /* as the wiki's "texto" */
            said = value;
    }
    if (!said.n)
        return 0;
    if (!by[0].n && !box && !span_in(call_at(c, at), "left|right|center|lang"))
        by[0] = call_at(c, at);
    if (!by[2].n && !box && call_at(c, at).n)
        by[2] = call_at(c, at + 1);
    buf_adds(out, c->page->markdown ? "\n\n\x1A" : "\n\n");
    span_put(said, out);
    const char *before = "\n\n— ";
    for (size_t i = 0; i < sizeof by / sizeof *by; i++)
        before = show_after(before, by[i], out) ? ", " : before;
    buf_adds(out, c->page->markdown ? "\x1B\n\n" : "\n\n");
    return 1;
}

/* Shows a note such as "Main article: Moon" as a separate paragraph, if hatnotes are wanted. The
 * row's text has what comes first, what is between the last two titles, " and ", and what comes
 * last, with '|' between them. */
int show_hatnote(const struct call *c, struct buf *out)
{
    enum { LABELS_MAX = 200 /* keeps the time linear */ };
    const struct span between = span_item(c->text, 1);
    int last = c->a.count;
    while (last && !call_at(c, last).n)
        last--;
    if (!c->page->hatnotes || !call_at(c, 1).n)
        return 0;
    buf_adds(out, "\n\n");
    span_put(span_item(c->text, 0), out);
    for (int i = 1; i <= last; i++) {
        if (!call_at(c, i).n)
            continue;
        char key[16];
        snprintf(key, sizeof key, "l%d", i);
        if (i > 1)
            span_put(i == last && between.n ? between : span_of(i < last ? ", " : " and "), out);
        struct span label = call_any(c, i <= LABELS_MAX ? key : "");
        span_put(label.n ? label : call_at(c, i), out);
    }
    span_put(span_item(c->text, 2), out);
    buf_adds(out, "\n\n");
    return 1;
}
