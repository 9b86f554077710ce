/* Parser functions on strings: case, padding, length, search, replacement, numbers, plural. */
#include <ctype.h>
#include <math.h>

#include "common/base/utf8.h"
#include "unicode/letter_case.h"
#include "wikiprep/expand/functions.h"
#include "wikiprep/site/entity.h"
#include "wikiprep/site/names.h"
#include "wikiprep/values/number.h"
#include "wikiprep/values/plural.h"

enum {
    STRING_MAX = 1000,     /* string functions refuse texts of this many characters or more */
    ANCHOR_PART_MAX = 1024 /* longest tag or link of an anchor: keeps the time linear */
};

static struct span value(struct expander *x, const struct function_call *c, int i)
{
    return expand_without_marks(x, expand_value(x, c, i));
}

/* ---- case ----------------------------------------------------------------------------------- */

void function_case(struct expander *x, struct function_call *c)
{
    unsigned (*change)(unsigned) = c->which == TEXT_UPPER         ? letter_case_upper
                                   : c->which == TEXT_UPPER_FIRST ? letter_case_title
                                                                  : letter_case_lower;
    struct span s = c->first;
    size_t n = s.n;
    unsigned first;
    if (c->which >= TEXT_LOWER_FIRST && n)
        n = utf8_read(s.s, s.n, &first);
    const char *lang = x->site->lang.data;
    if (c->which == TEXT_UPPER_FIRST && n && *s.s == 'i' &&
        names_capital_in(span_of(lang)) == NAMES_CAPITAL_DOTTED)
        expand_puts(x, "İ");
    else if (c->which == TEXT_LOWER_FIRST && n && *s.s == 'I' && span_in(span_of(lang), "kaa|tr"))
        expand_puts(x, "ı");
    else
        letter_case_put(&x->out, s.s, n, change);
    expand_put(x, (struct span){ s.s + n, s.n - n });
}

/* ---- padding -------------------------------------------------------------------------------- */

void function_pad(struct expander *x, struct function_call *c)
{
    enum { LENGTH_MAX = 500 };
    struct span s = c->first, length = expand_value(x, c, 1);
    struct span fill = c->count > 2 ? value(x, c, 2) : (struct span){ "0", 1 };
    int64_t want = number_integer(length);
    want = want > LENGTH_MAX ? LENGTH_MAX : want;
    int64_t missing = want - (int64_t)utf8_count(s.s, s.n);
    if (c->which == PAD_RIGHT)
        expand_put(x, s);
    for (size_t fill_count = utf8_count(fill.s, fill.n); missing > 0 && fill_count;) {
        size_t n = fill_count < (size_t)missing ? fill_count : (size_t)missing;
        expand_put(x, (struct span){ fill.s, utf8_offset(fill.s, fill.n, n) });
        missing -= (int64_t)n;
    }
    if (c->which == PAD_LEFT)
        expand_put(x, s);
}

/* ---- numbers -------------------------------------------------------------------------------- */

void function_formatnum(struct expander *x, struct function_call *c)
{
    struct number_style style = number_style(x->site->lang.data);
    struct span how = expand_value(x, c, 1);
    int raw = how.n == 1 && *how.s == 'R';
    if (span_is(how, "NOSEP"))
        style.group = span_of(""), style.point = span_of(".");
    for (struct span rest = c->first; rest.n;) {
        struct span mark = expand_next_mark(x, rest);
        struct span plain = { rest.s, (size_t)(mark.s - rest.s) };
        if (raw)
            number_unformat(plain, &style, &x->out);
        else if (span_in(plain, "INF|-INF") && isupper((unsigned char)plain.s[plain.n - 1]))
            expand_puts(x, plain.n > 3 ? "−∞" : "∞");
        else
            number_format(plain, &style, &x->out);
        expand_put(x, mark);
        rest.n -= plain.n + mark.n;
        rest.s = mark.s + mark.n;
    }
}

/* Returns 1 if s is a form such as "12=a dozen", with a digit before '=', else 0. */
static int is_exact_form(struct span s)
{
    for (size_t i = 1; i < s.n; i++)
        if (s.s[i] == '=' && s.s[i - 1] >= '0' && s.s[i - 1] <= '9')
            return 1;
    return 0;
}

/* {{plural:n|one|more|12=a dozen}} */
void function_plural(struct expander *x, struct function_call *c)
{
    struct number n = { .is_integer = 1 };
    struct number_style style = number_style(x->site->lang.data);
    SCOPED(buf) plain = BUF_INIT;
    number_unformat(c->first, &style, &plain);
    if (!number_read(span_of_buf(&plain), &n))
        n.value = (double)number_integer(span_of_buf(&plain));
    enum { FORMS_MAX = 64 };
    struct span forms[FORMS_MAX];
    int count = 0;
    for (int i = 1; i < c->count && count < FORMS_MAX; i++) {
        struct span form = expand_value(x, c, i);
        const char *equals = memchr(form.s, '=', form.n);
        if (!is_exact_form(form)) {
            forms[count++] = form;
            continue;
        }
        if (span_equal(span_between(form.s, equals), c->first)) {
            expand_put(x, span_between(equals + 1, form.s + form.n));
            return;
        }
    }
    int form = plural_form(x->site->lang.data, fabs(n.value));
    if (count)
        expand_put(x, forms[form < count ? form : count - 1]);
}

/* {{gender:user|he|she|they}}: appends the form for an unknown gender: the third, or, if there is
 * none, the first. */
void function_gender(struct expander *x, struct function_call *c)
{
    expand_argument(x, c, c->count > 3 ? 3 : 1);
}

void function_grammar(struct expander *x, struct function_call *c)
{
    expand_argument(x, c, 1);
}

/* ---- tags ----------------------------------------------------------------------------------- */

/* Appends the attribute s, which is name=value with or without quotes around the value, as
 * name="value". */
static void put_attribute(struct buf *out, struct span s)
{
    const char *equals = memchr(s.s, '=', s.n);
    struct span name = span_trim_space(span_between(s.s, equals));
    struct span v = span_trim_space(span_between(equals + 1, s.s + s.n));
    if (v.n > 1 && strchr("\"'", *v.s) && v.s[v.n - 1] == *v.s)
        v.s++, v.n -= 2;
    buf_addc(out, ' ');
    span_put(name, out);
    buf_adds(out, "=\"");
    span_put(v, out);
    buf_addc(out, '"');
}

/* {{#tag:name|content|attribute=value}}: appends a mark (expand_keep) for the tag. Drops <ref>. */
void function_tag(struct expander *x, struct function_call *c)
{
    SCOPED(buf) b = BUF_INIT;
    if (span_is(c->first, "ref")) {
        expand_hole(x);
        return;
    }
    struct span content = { "", 0 };
    size_t mark = x->out.len;
    if (c->count > 1) {
        expand_part(x, c->frame, c->tree, c->parts[1]);
        content = expand_take(x, mark); /* not trimmed */
    }
    letter_case_put(&b, c->first.s, c->first.n, letter_case_lower);
    struct span name = expand_copy(x, span_of_buf(&b));
    buf_setf(&b, "<%.*s", (int)name.n, name.s);
    for (int i = 2; i < c->count; i++) {
        struct span attribute = expand_value(x, c, i);
        if (c->parts[i]->flags & NODE_NAMED && attribute.n) /* empty: beyond the limits */
            put_attribute(&b, attribute);
    }
    if (span_is(name, "pages")) {
        expand_book(x, c->frame, (struct span){ b.data + name.n + 1, b.len - name.n - 1 });
        return;
    }
    if (c->count > 1) {
        buf_addc(&b, '>');
        buf_add(&b, content.s, content.n);
        buf_addf(&b, "</%.*s>", (int)name.n, name.s);
    } else {
        buf_adds(&b, "/>");
    }
    expand_put(x, span_of_buf(&b));
    expand_keep_expanded(x, mark);
}

/* ---- strings -------------------------------------------------------------------------------- */

static void too_long_error(struct expander *x)
{
    expand_error(x, "Error: String exceeds 1,000 character limit.");
}

/* Returns 1 and appends an error if one of the texts is too long, else returns 0. */
static int too_long(struct expander *x, struct span a, struct span b)
{
    if (utf8_count(a.s, a.n) < STRING_MAX && utf8_count(b.s, b.n) < STRING_MAX)
        return 0;
    too_long_error(x);
    return 1;
}

static struct span space_if_empty(struct span s)
{
    return s.n ? s : (struct span){ " ", 1 };
}

void function_len(struct expander *x, struct function_call *c)
{
    struct span s = value(x, c, 0);
    buf_addf(&x->out, "%zu", utf8_count(s.s, s.n));
}

void function_pos(struct expander *x, struct function_call *c)
{
    struct span s = value(x, c, 0), needle = space_if_empty(value(x, c, 1));
    if (too_long(x, s, needle))
        return;
    int64_t skip = number_integer(expand_value(x, c, 2)), count = (int64_t)utf8_count(s.s, s.n);
    skip = skip < 0 ? skip + count : skip;
    skip = skip < 0 ? 0 : skip > count ? count : skip;
    size_t begin = utf8_offset(s.s, s.n, (size_t)skip);
    const char *at = memmem(s.s + begin, s.n - begin, needle.s, needle.n);
    if (at)
        buf_addf(&x->out, "%zu", utf8_count(s.s, (size_t)(at - s.s)));
}

void function_rpos(struct expander *x, struct function_call *c)
{
    struct span s = value(x, c, 0), needle = space_if_empty(value(x, c, 1));
    if (too_long(x, s, needle))
        return;
    const char *last = NULL;
    for (const char *at = s.s; (at = bytes_find(at, s.s + s.n, needle.s, needle.n)); at++)
        last = at;
    buf_addf(&x->out, "%ld", last ? (long)utf8_count(s.s, (size_t)(last - s.s)) : -1L);
}

/* {{#sub:text|start|length}}: appends a part of the text. Negative values count from its end. */
void function_sub(struct expander *x, struct function_call *c)
{
    struct span s = value(x, c, 0);
    if (too_long(x, s, s))
        return;
    int64_t count = (int64_t)utf8_count(s.s, s.n);
    int64_t start = number_integer(expand_value(x, c, 1));
    int64_t length = number_integer(expand_value(x, c, 2));
    start = start < 0 ? start + count : start;
    start = start < 0 ? 0 : start > count ? count : start;
    int64_t end = length > 0 ? start + length : length < 0 ? count + length : count;
    end = end > count ? count : end;
    if (end <= start)
        return;
    size_t from = utf8_offset(s.s, s.n, (size_t)start);
    size_t to = utf8_offset(s.s, s.n, (size_t)end);
    expand_put(x, (struct span){ s.s + from, to - from });
}

size_t function_count_of(struct span s, struct span what)
{
    size_t count = 0;
    for (const char *at = s.s, *end = s.s + s.n;
         what.n && (at = bytes_find(at, end, what.s, what.n)); at += what.n)
        count++;
    return count;
}

void function_count(struct expander *x, struct function_call *c)
{
    struct span s = value(x, c, 0), needle = space_if_empty(value(x, c, 1));
    if (!too_long(x, s, needle))
        buf_addf(&x->out, "%zu", function_count_of(s, needle));
}

void function_put_replaced(struct expander *x, struct span s, struct span what, struct span with,
                           int64_t most)
{
    for (size_t i = 0; i < s.n;)
        if (what.n && most && s.n - i >= what.n && !memcmp(s.s + i, what.s, what.n)) {
            expand_put(x, with);
            i += what.n;
            most -= most > 0;
        } else {
            buf_addc(&x->out, s.s[i++]);
        }
}

void function_replace(struct expander *x, struct function_call *c)
{
    struct span s = value(x, c, 0), what = space_if_empty(value(x, c, 1)), with = value(x, c, 2);
    if (too_long(x, s, what) || too_long(x, with, with))
        return;
    int64_t most = c->count > 3 ? number_integer(expand_value(x, c, 3)) : -1;
    size_t mark = x->out.len;
    function_put_replaced(x, s, what, with, most);
    if (utf8_count(x->out.data + mark, x->out.len - mark) >= STRING_MAX) {
        buf_truncate(&x->out, mark);
        too_long_error(x);
    }
}

/* {{#explode:text|delimiter|position|limit}}: splits the text at the delimiter, into at most
 * `limit` parts, and appends the part at `position` (from 0; negative: from the end). */
void function_explode(struct expander *x, struct function_call *c)
{
    struct span s = value(x, c, 0), by = space_if_empty(value(x, c, 1));
    if (too_long(x, s, by))
        return;
    int64_t want = number_integer(expand_value(x, c, 2));
    int64_t limit = number_integer(expand_value(x, c, 3));
    struct span pieces[STRING_MAX + 1];
    int64_t count = 0;
    const char *begin = s.s, *end = s.s + s.n;
    /* a text in UTF-8 has no more pieces than characters, but `wikiprep expand` reads any bytes */
    limit = limit > 0 && limit < STRING_MAX ? limit : STRING_MAX;
    for (const char *at; count + 1 < limit && (at = bytes_find(begin, end, by.s, by.n));
         begin = at + by.n)
        pieces[count++] = span_between(begin, at);
    pieces[count++] = span_between(begin, end);
    want = want < 0 ? want + count : want;
    if (want >= 0 && want < count)
        expand_put(x, pieces[want]);
}

/* ---- URLs ----------------------------------------------------------------------------------- */

void function_put_decoded(struct expander *x, struct span s)
{
    SCOPED(buf) text = BUF_INIT; /* "%E9" is no UTF-8 */
    for (const char *p = s.s, *end = s.s + s.n; p < end; p++) {
        const int code = span_percent(p, end);
        if (code != MARK)
            buf_addc(&text, code >= 0 ? code : *p == '+' ? ' ' : *p);
        p += code >= 0 ? 2 : 0;
    }
    utf8_repair(&x->out, text.data, text.len);
}

void function_urldecode(struct expander *x, struct function_call *c)
{
    struct span s = value(x, c, 0);
    if (!too_long(x, s, s))
        function_put_decoded(x, s);
}

void function_put_encoded(struct expander *x, struct span s, enum url_style style)
{
    const char *plain = style == URL_WIKI ? "-_.;@$!*(),/~:" : style == URL_PATH ? "-_.~" : "-_.";
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.s[i];
        int letter = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        if (c == ' ' && style != URL_PATH)
            buf_addc(&x->out, style == URL_WIKI ? '_' : '+');
        else if (c < 0x80 && (letter || (c && strchr(plain, c))))
            buf_addc(&x->out, c);
        else
            buf_addf(&x->out, "%%%02X", c);
    }
}

void function_urlencode(struct expander *x, struct function_call *c)
{
    struct span how = expand_value(x, c, 1), s = value(x, c, 0);
    function_put_encoded(x, s,
                         span_is(how, "WIKI")   ? URL_WIKI
                         : span_is(how, "PATH") ? URL_PATH
                                                : URL_QUERY);
}

/* Returns the length of the link at s and sets *label to its label; 0 if there is no link. */
static size_t link_label(struct span s, struct span *label)
{
    s.n = s.n < ANCHOR_PART_MAX ? s.n : ANCHOR_PART_MAX;
    const char *gap = s.n > 4 && *s.s == '[' && s.s[1] != '[' ? memchr(s.s, ' ', s.n) : NULL;
    const char *close = gap && memmem(s.s, (size_t)(gap - s.s), "//", 2)
                            ? memchr(gap, ']', (size_t)(s.s + s.n - gap))
                            : NULL;
    if (close) {
        *label = span_between(gap + 1, close);
        return (size_t)(close + 1 - s.s);
    }
    const char *end = s.n > 4 && bytes_begin(s.s, s.n, "[[") ? memmem(s.s, s.n, "]]", 2) : NULL;
    if (!end)
        return 0;
    const char *bar = memchr(s.s, '|', (size_t)(end - s.s));
    const char *from = bar ? bar + 1 : s.s + 2 + (s.s[2] == ':');
    *label = span_between(from, end);
    return (size_t)(end + 2 - s.s);
}

/* Appends the text for an attribute value, escaped so that it looks like neither markup nor
 * percent-encoding. */
static void put_attribute_text(struct expander *x, const struct buf *b)
{
    for (size_t i = 0; i < b->len; i++) {
        char c = b->data[i];
        if (span_percent(b->data + i, b->data + b->len) >= 0)
            expand_puts(x, "%25");
        else if (strchr("{}[]|", c))
            buf_addf(&x->out, "&#%d;", c);
        else
            expand_put_html(x, (struct span){ &c, 1 });
    }
}

/* Decodes a character reference at s into `out` and returns its length; 0 if there is none. A space
 * is written as '_', unless one was just written. */
static size_t put_reference(struct span s, struct buf *out)
{
    unsigned c;
    size_t n = *s.s == '&' ? entity_read(s.s, s.n, &c) : 0;
    if (!n)
        return 0;
    if (c == ' ' || c == 0xA0) {
        if (out->len && out->data[out->len - 1] != '_')
            buf_addc(out, '_');
    } else if (c >= ' ') {
        utf8_add(out, c);
    }
    return n;
}

void function_anchorencode(struct expander *x, struct function_call *c)
{
    struct span s = value(x, c, 0), label;
    SCOPED(buf) anchor = BUF_INIT;
    s = span_trim_space(s);
    for (size_t n; s.n; s.s += n, s.n -= n) {
        const size_t near = s.n < ANCHOR_PART_MAX ? s.n : ANCHOR_PART_MAX;
        const char *tag_end = *s.s == '<' ? memchr(s.s, '>', near) : NULL;
        n = 1;
        if (tag_end) {
            n = (size_t)(tag_end + 1 - s.s);
        } else if (bytes_begin(s.s, s.n, "''")) {
            n = (size_t)(span_past(s.s, s.s + s.n, "'") - s.s);
        } else if (strchr(" \t\n_", *s.s)) {
            if (anchor.len && anchor.data[anchor.len - 1] != '_')
                buf_addc(&anchor, '_');
        } else if ((n = link_label(s, &label))) {
            span_put(label, &anchor);
        } else if (!(n = put_reference(s, &anchor))) {
            buf_addc(&anchor, *s.s);
            n = 1;
        }
    }
    while (anchor.len && anchor.data[anchor.len - 1] == '_')
        buf_truncate(&anchor, anchor.len - 1);
    put_attribute_text(x, &anchor);
}
