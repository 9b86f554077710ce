#define _GNU_SOURCE /* memmem */
#include "wikiprep/template.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "wikiprep/arguments.h"
#include "wikiprep/convert.h"
#include "wikiprep/language.h"
#include "wikiprep/markup.h"

enum { NAME_MAX_BYTES = 64, YEAR_MAX = 9999 };

/* One call being rendered. */
struct call {
    const struct template_page *page;
    const struct wikitext_call *source;
    const char *name; /* folded */
    struct arguments a;
};

/* Renderers append to out and return 1, or 0 for nothing. `text` and `n` are the table's. */
typedef int (*renderer)(const struct call *c, const char *text, int n, struct buf *out);

static struct span at(const struct call *c, int place)
{
    return arguments_at(&c->a, place);
}

static struct span any(const struct call *c, const char *keys)
{
    return arguments_any(&c->a, keys);
}

static int put_span(struct span s, struct buf *out)
{
    span_put(s, out);
    return s.n > 0;
}

/* ---- the simple ones ----------------------------------------------------------------------- */

static int say(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)c, (void)n;
    buf_adds(out, text ? text : "");
    return text != NULL;
}

/* The n-th argument, or the one by a name in `text`, which comes first. */
static int nth(const struct call *c, const char *text, int n, struct buf *out)
{
    struct span s = any(c, text ? text : "lt|label|text");
    return put_span(s.n ? s : at(c, n), out);
}

static int last(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text;
    int count = c->a.count;
    while (count > 1 && !at(c, count).n)
        count--;
    return count && put_span(at(c, count < n ? count : count > 3 ? 3 : count), out);
}

/* A line of its own. */
static int nth_line(const struct call *c, const char *text, int n, struct buf *out)
{
    if (!at(c, n).n)
        return 0;
    buf_addc(out, MARKUP_BREAK);
    nth(c, text, n, out);
    buf_addc(out, MARKUP_BREAK);
    return 1;
}

static int join_from(const struct call *c, int from, const char *between, struct buf *out)
{
    size_t begin = out->len;
    for (int i = from; i <= c->a.count; i++) {
        if (!at(c, i).n)
            continue;
        if (out->len > begin)
            buf_adds(out, between);
        span_put(at(c, i), out);
    }
    return out->len > begin;
}

static int join(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    return join_from(c, 1, "", out);
}

static int list_inline(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)n;
    return join_from(c, 1, text, out);
}

static int list_lines(const struct call *c, const char *text, int n, struct buf *out)
{
    static const char line[] = { MARKUP_BREAK, '\0' };
    (void)text, (void)n;
    buf_adds(out, line);
    if (!join_from(c, 1, line, out))
        return 0;
    buf_adds(out, line);
    return 1;
}

/* "⟨a⟩": text is what stands before, a space, what stands behind. */
static int wrap(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)n;
    const char *gap = strchr(text, ' ');
    if (!at(c, 1).n)
        return 0;
    buf_add(out, text, (size_t)(gap - text));
    span_put(at(c, 1), out);
    buf_adds(out, gap + 1);
    return 1;
}

static int prefix(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)n;
    if (!at(c, 1).n)
        return 0;
    buf_adds(out, text);
    return put_span(at(c, 1), out);
}

static int numbers(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)n;
    if (!any(c, "1|id").n)
        return 0;
    buf_adds(out, text);
    return at(c, 1).n ? join_from(c, 1, ", ", out) : put_span(any(c, "id"), out);
}

static int equals(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)c, (void)text, (void)n;
    buf_addc(out, 2); /* markup.h's stand-in for '=' */
    return 1;
}

static int title(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    buf_adds(out, c->page->title);
    return *c->page->title != '\0';
}

static int sic(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    int shown = join_from(c, 1, "", out);
    if (arguments_yes(&c->a, "hide"))
        return shown;
    buf_adds(out, shown ? " [sic]" : "[sic]");
    return 1;
}

static int reading(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    if (!at(c, 1).n)
        return 0;
    span_put(at(c, 1), out);
    if (at(c, 2).n) {
        buf_adds(out, "（");
        span_put(at(c, 2), out);
        buf_adds(out, "）");
    }
    return 1;
}

static int sortname(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    span_put(at(c, 1), out);
    if (at(c, 1).n && at(c, 2).n)
        buf_addc(out, ' ');
    return put_span(at(c, 2), out) || at(c, 1).n;
}

static int bandiera(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    return (span_is(at(c, 2), "nome") || any(c, "nome").n) && at(c, 1).n > 3 &&
           put_span(at(c, 1), out);
}

static int oldstyle(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    if (!at(c, 1).n)
        return 0;
    span_put(at(c, 1), out);
    buf_addc(out, ' ');
    span_put(at(c, 2), out);
    buf_adds(out, " [O.S. ");
    span_put(at(c, 3), out);
    buf_addc(out, ']');
    return 1;
}

static int unichar(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    char hex[9] = "", *end;
    struct span s = at(c, 1);
    if (!s.n || s.n >= sizeof hex)
        return 0;
    memcpy(hex, s.s, s.n);
    unsigned long code = strtoul(hex, &end, 16);
    if (*end || code < 0x20 || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF)
        return 0;
    buf_adds(out, "U+");
    span_put(s, out);
    if (code > 0xA0) {
        buf_addc(out, ' ');
        buf_add_utf8(out, (unsigned)code);
    }
    if (at(c, 2).n) {
        buf_addc(out, ' ');
        span_put(at(c, 2), out);
    }
    return 1;
}

static int music(const struct call *c, const char *text, int n, struct buf *out)
{
    static const char *const signs[][2] = {
        { "flat|b|♭", "♭" },
        { "sharp|#|♯", "♯" },
        { "natural|n|♮", "♮" },
        { "doubleflat|bb", "𝄫" },
        { "doublesharp|##|x", "𝄪" },
        { "common-time|c", "𝄴" },
        { "cut-time|alla-breve", "𝄵" },
    };
    (void)text, (void)n;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (span_in(at(c, 1), signs[i][0]))
            return say(c, signs[i][1], 0, out);
    return put_span(at(c, 1), out);
}

/* ---- languages ----------------------------------------------------------------------------- */

static int put_language(const struct call *c, const char *code, size_t n, struct buf *out)
{
    const char *language = language_name(code, n, c->page->lang);
    buf_adds(out, language ? language : "");
    return language != NULL;
}

/* "Russian: водка, romanized: vodka, lit. 'little water'"; from is the place of the text. */
static int named_language(const struct call *c, const char *code, size_t code_len, int from,
                          struct buf *out)
{
    struct span text = at(c, from).n ? at(c, from) : any(c, "text");
    struct span translit = at(c, from + 1).n ? at(c, from + 1) : any(c, "translit|t");
    struct span literal = at(c, from + 2).n ? at(c, from + 2) : any(c, "lit|translation");
    if (!text.n)
        return 0;
    struct span label = any(c, "label|links");
    if (!span_in(label, "none|no") && put_language(c, code, code_len, out))
        buf_adds(out, out->data[out->len - 1] == '.' ? " " : ": "); /* "англ. Moon" */
    span_put(text, out);
    if (translit.n) {
        buf_adds(out, ", romanized: ");
        span_put(translit, out);
    }
    if (literal.n) {
        buf_adds(out, ", lit. \1"); /* markup.h's stand-in for an apostrophe */
        span_put(literal, out);
        buf_addc(out, 1);
    }
    return 1;
}

static int langx(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    struct span code = any(c, "1|code");
    return named_language(c, code.s, code.n, 2, out);
}

/* "English (漢字, rōmaji, more) and more" */
static int nihongo(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    struct span first = at(c, 1), extra = at(c, 4).n ? at(c, 4) : any(c, "extra");
    struct span extra2 = at(c, 5).n ? at(c, 5) : any(c, "extra2");
    int from = 2, lead = arguments_yes(&c->a, "lead");
    struct span inside[] = { at(c, 2), at(c, 3), extra };
    if (!first.n) { /* the reading stands in its place */
        first = at(c, 3);
        inside[1].n = 0;
        from = 0;
    }
    if (!first.n)
        return put_span(at(c, 2), out);
    span_put(first, out);
    const char *before = " (";
    for (int i = 0; i < 3; i++) {
        if (!inside[i].n)
            continue;
        buf_adds(out, before);
        if (lead && from && i < 2)
            buf_adds(out, i ? "Hepburn: " : "Japanese: ");
        span_put(inside[i], out);
        before = ", ";
    }
    if (*before == ',')
        buf_addc(out, ')');
    if (extra2.n) {
        buf_addc(out, ' ');
        span_put(extra2, out);
    }
    return 1;
}

/* "rōmaji (漢字, English)" */
static int nihongo3(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    if (!at(c, 3).n)
        return nihongo(c, NULL, 0, out);
    span_put(at(c, 3), out);
    buf_adds(out, " (");
    span_put(at(c, 2), out);
    if (at(c, 1).n) {
        buf_adds(out, at(c, 2).n ? ", " : "");
        span_put(at(c, 1), out);
    }
    buf_addc(out, ')');
    return 1;
}

/* {{zh|s=北京|t=北京|p=Běijīng}} */
static int chinese(const struct call *c, const char *text, int n, struct buf *out)
{
    static const char *const parts[][2] = {
        { "c", "Chinese: " },
        { "s", "simplified Chinese: " },
        { "t", "traditional Chinese: " },
        { "p|hp", "pinyin: " },
        { "w", "Wade–Giles: " },
        { "j", "Jyutping: " },
        { "poj", "Pe̍h-ōe-jī: " },
        { "l", "lit. " },
    };
    (void)text, (void)n;
    size_t begin = out->len;
    int labels = !span_in(any(c, "labels"), "no|none");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct span s = any(c, parts[i][0]);
        if (!s.n)
            continue;
        buf_adds(out, out->len > begin ? "; " : "");
        buf_adds(out, labels ? parts[i][1] : "");
        span_put(s, out);
    }
    return out->len > begin || put_span(at(c, 1), out);
}

/* ---- pronunciation ----------------------------------------------------------------------------
 */

/* "German pronunciation: [ˈbɛʁliːn]"; place: of the sound, with how it is introduced behind it. */
static int pronounced(const struct call *c, struct span code, int place, struct buf *out)
{
    struct span sound = at(c, place), how = at(c, place + 1);
    int has_how = c->a.count > place; /* an empty one leaves all introduction out */
    if (!sound.n)
        return 0;
    if (span_is(how, "pron"))
        buf_adds(out, "pronounced ");
    else if (span_is(how, "local"))
        buf_adds(out, "locally ");
    else if (!has_how || span_in(how, "lang|lang2"))
        if (put_language(c, code.s, code.n, out))
            buf_adds(out, has_how ? ": " : " pronunciation: ");
    int bare = !strchr("[/", *sound.s);
    buf_adds(out, bare ? "[" : "");
    span_put(sound, out);
    buf_adds(out, bare ? "]" : "");
    return 1;
}

static int ipa(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    if (!at(c, 2).n || !language_name(at(c, 1).s, at(c, 1).n, ""))
        return put_span(at(c, 1), out);
    return pronounced(c, at(c, 1), 2, out);
}

/* Japanese Wikipedia's {{IPA}} adds brackets, its {{ipa}} slashes. */
static int ipa_ja(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    const char *name = memmem(c->source->name, c->source->name_len, "IPA", 3);
    if (!at(c, 1).n)
        return 0;
    int bare = !strchr("[/", *at(c, 1).s);
    buf_adds(out, !bare ? "" : name ? "[" : "/");
    span_put(at(c, 1), out);
    buf_adds(out, !bare ? "" : name ? "]" : "/");
    return 1;
}

/* {{IPAc-en|ˈ|æ|l|_|US}}: sounds, some of them written as in X-SAMPA. */
static int ipac(const struct call *c, const char *text, int n, struct buf *out)
{
    static const char *const sounds[][2] = {
        { "'", "ˈ" },   { "\1", "ˈ" },  { ",", "ˌ" },   { "_", " " },   { ",_", ", " },
        { "S", "ʃ" },   { "sh", "ʃ" },  { "N", "ŋ" },   { "ng", "ŋ" },  { "T", "θ" },
        { "th", "θ" },  { "D", "ð" },   { "Z", "ʒ" },   { "zh", "ʒ" },  { "g", "ɡ" },
        { "y", "j" },   { "I", "ɪ" },   { "E", "ɛ" },   { "e", "ɛ" },   { "V", "ʌ" },
        { "@", "ə" },   { "dZ", "dʒ" }, { "tS", "tʃ" }, { "ch", "tʃ" }, { "A:", "ɑː" },
        { "i:", "iː" }, { "u:", "uː" }, { "ɔ:", "ɔː" }, { "ɑ:", "ɑː" }, { "\x0C", "-" },
    };
    (void)text, (void)n;
    size_t begin = out->len;
    static const char *const labels[][2] = {
        { "lang", "English: " },
        { "pron", "pronounced " },
        { "also", "also " },
        { "US", "US: " },
        { "UK", "UK: " },
        { "local", "locally " },
        { "ipa", "" },
        { "icon", "" },
        { "uk", "UK: " },
        { "us", "US: " },
        { "alsouk", "also UK: " },
        { "alsous", "also US: " },
    };
    size_t sound = 0;
    for (int i = 1; i <= c->a.count; i++) {
        struct span s = at(c, i);
        const char *show = NULL;
        for (size_t k = 0; k < sizeof labels / sizeof *labels && !show; k++)
            if (s.n == strlen(labels[k][0]) && !memcmp(s.s, labels[k][0], s.n))
                show = labels[k][1];
        if (show && !sound) {
            buf_adds(out, show);
            continue;
        }
        if (!sound)
            buf_addc(out, '/');
        sound = 1;
        show = NULL;
        for (size_t k = 0; k < sizeof sounds / sizeof *sounds && !show; k++)
            if (s.n == strlen(sounds[k][0]) && !memcmp(s.s, sounds[k][0], s.n))
                show = sounds[k][1];
        if (show)
            buf_adds(out, show);
        else
            span_put(s, out);
    }
    if (!sound) {
        buf_truncate(out, begin);
        return 0;
    }
    buf_addc(out, '/');
    return 1;
}

/* "AL-ə-bam-ə" */
static int respell(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    int joined = 0;
    for (int i = 1; i <= c->a.count; i++) {
        struct span s = at(c, i);
        if (span_is(s, "_") || span_is(s, ",_")) {
            buf_adds(out, s.n > 1 ? ", " : " ");
            joined = 0;
            continue;
        }
        if (!s.n)
            continue;
        buf_adds(out, joined ? "-" : "");
        span_put(s, out);
        joined = 1;
    }
    return joined;
}

/* ---- dates -------------------------------------------------------------------------------------
 */

static const char *const months[] = { "January",   "February", "March",    "April",
                                      "May",       "June",     "July",     "August",
                                      "September", "October",  "November", "December" };

static int month_of(struct span s)
{
    int m;
    if (span_number(s, &m))
        return m >= 1 && m <= 12 ? m : 0;
    for (m = 1; m <= 12; m++)
        if (span_is(s, months[m - 1]) || (s.n == 3 && !strncasecmp(s.s, months[m - 1], 3)))
            return m;
    return 0;
}

/* "4 July 1776", "July 4, 1776", "July 1776", "1776"; 0 when there is no year. */
static int put_date(const struct call *c, int from, struct buf *out)
{
    int year, day = 0, month = month_of(at(c, from + 1));
    if (!span_number(at(c, from), &year) || year > YEAR_MAX)
        return 0;
    if (month)
        span_number(at(c, from + 2), &day);
    struct span order = any(c, "df|mf");
    int day_first = arguments_yes(&c->a, "df") || span_is(order, "dmy");
    if (day && day_first)
        buf_addf(out, "%d %s %d", day, months[month - 1], year);
    else if (day)
        buf_addf(out, "%s %d, %d", months[month - 1], day, year);
    else if (month)
        buf_addf(out, "%s %d", months[month - 1], year);
    else
        buf_addf(out, "%d", year);
    return 1;
}

/* n: where the date of birth is, from which an age follows. */
static int date(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text;
    if (!put_date(c, 1, out))
        return put_span(at(c, 1), out);
    int y1, y0, m0, d0, d1;
    if (n && span_number(at(c, 1), &y1) && span_number(at(c, 4), &y0) && y1 >= y0) {
        int m1 = month_of(at(c, 2)), has_days = span_number(at(c, 3), &d1);
        m0 = month_of(at(c, 5));
        has_days &= span_number(at(c, 6), &d0);
        int early = m1 < m0 || (m1 == m0 && has_days && d1 < d0);
        buf_addf(out, " (aged %d)", y1 - y0 - early);
    }
    return 1;
}

/* {{as of|2011|4|1|lc=y}} */
static int as_of(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    if (any(c, "alt").n)
        return put_span(any(c, "alt"), out);
    int lower = arguments_yes(&c->a, "lc"), since = arguments_yes(&c->a, "since");
    size_t begin = out->len;
    int american = span_in(any(c, "df"), "US|mdy|m");
    if (!arguments_yes(&c->a, "bare"))
        buf_adds(out, since ? (lower ? "since " : "Since ") : (lower ? "as of " : "As of "));
    int year, day = 0, month = month_of(at(c, 2));
    if (month && span_number(at(c, 1), &year)) {
        span_number(at(c, 3), &day);
        if (day && !american)
            buf_addf(out, "%d ", day);
        buf_adds(out, months[month - 1]);
        if (day && american)
            buf_addf(out, " %d,", day);
        buf_addf(out, " %d", year);
    } else if (!put_span(at(c, 1), out)) {
        buf_truncate(out, begin);
        return 0;
    }
    span_put(any(c, "post"), out);
    return 1;
}

/* "c. 1900", "c. 1900 – c. 1910" */
static int circa(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)n;
    if (!at(c, 1).n) {
        buf_add(out, text, strlen(text) - 1);
        return 1;
    }
    buf_adds(out, text);
    span_put(at(c, 1), out);
    if (at(c, 2).n) {
        buf_adds(out, " – ");
        buf_adds(out, text);
        span_put(at(c, 2), out);
    }
    return 1;
}

static int years(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)n;
    if (!at(c, 1).n)
        return 0;
    buf_adds(out, text);
    return join_from(c, 1, "–", out);
}

static int marriage(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    struct span end = any(c, "end|reason"), to = at(c, 3).n ? at(c, 3) : any(c, "()");
    if (!put_span(at(c, 1), out))
        return 0;
    if (!at(c, 2).n)
        return 1;
    buf_adds(out, " (m. ");
    span_put(at(c, 2), out);
    if (to.n) {
        int died = span_in(end, "w.|w|wid|wid.|widowed|widow|died|d.|d|death|his death|her death");
        buf_adds(out, end.n ? "; " : "–");
        if (died)
            buf_adds(out, "died ");
        else if (span_in(end, "div|div.|divorce|divorced"))
            buf_adds(out, "div. ");
        else if (span_in(end, "ann|ann.|annulled|annulment"))
            buf_adds(out, "ann. ");
        else if (span_in(end, "sep|sep.|separated"))
            buf_adds(out, "sep. ");
        span_put(to, out);
    }
    buf_addc(out, ')');
    return 1;
}

/* ---- numbers -----------------------------------------------------------------------------------
 */

static void superscript(struct span s, struct buf *out)
{
    static const char *const digits[] = { "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹" };
    for (size_t i = 0; i < s.n; i++) {
        if (isdigit((unsigned char)s.s[i]))
            buf_adds(out, digits[s.s[i] - '0']);
        else if (s.s[i] == '-' || s.s[i] == '\x0C')
            buf_adds(out, "⁻");
        else if (s.n - i >= 3 && !memcmp(s.s + i, "−", 3))
            buf_adds(out, "⁻"), i += 2;
        else
            buf_addc(out, s.s[i]);
    }
}

static void times_ten(struct span exponent, struct buf *out)
{
    buf_adds(out, "×10");
    superscript(exponent, out);
}

static int power(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    if (at(c, 1).n)
        times_ten(at(c, 1), out);
    return at(c, 1).n > 0;
}

static int exp_it(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    if (!at(c, 1).n)
        return 0;
    if (c->a.count > 1 && at(c, 2).n) {
        span_put(at(c, 1), out);
        times_ten(at(c, 2), out);
    } else {
        times_ten(at(c, 1), out);
    }
    return 1;
}

/* "1⁄2", "3+1⁄2"; text is the sign between. */
static int fraction(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)n;
    int count = c->a.count > 3 ? 3 : c->a.count;
    while (count && !at(c, count).n)
        count--;
    if (!count)
        return 0;
    if (count == 3) {
        span_put(at(c, 1), out);
        buf_addc(out, '+');
    }
    if (count == 1)
        buf_addc(out, '1');
    else
        span_put(at(c, count - 1), out);
    buf_adds(out, text);
    return put_span(at(c, count), out);
}

/* Commas between thousands of a plain number; in Italian points. */
static void put_grouped(const struct call *c, struct span s, struct buf *out)
{
    size_t begin = 0, digits;
    int italian = !strcmp(c->page->lang, "it");
    while (begin < s.n && !isdigit((unsigned char)s.s[begin]))
        begin++;
    for (digits = 0; begin + digits < s.n && isdigit((unsigned char)s.s[begin + digits]);)
        digits++;
    int plain = begin + digits == s.n || s.s[begin + digits] == '.';
    buf_add(out, s.s, begin);
    for (size_t i = 0; i < digits; i++) {
        buf_addc(out, s.s[begin + i]);
        if (plain && digits > 3 && i + 1 < digits && (digits - i - 1) % 3 == 0)
            buf_addc(out, italian ? '.' : ',');
    }
    if (italian && plain && begin + digits < s.n) {
        buf_addc(out, ',');
        digits++;
    }
    buf_add(out, s.s + begin + digits, s.n - begin - digits);
}

static int grouped(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text;
    put_grouped(c, at(c, n), out);
    return at(c, n).n > 0;
}

/* {{val|6.241|(7)|e=18|u=C}}; digits in threes from five on. */
static int val(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    struct span unit = any(c, "u|ul|upl"), per = any(c, "up"), e = any(c, "e");
    if (!at(c, 1).n && !e.n)
        return 0;
    span_put(any(c, "p"), out);
    if (at(c, 1).n > 4)
        put_grouped(c, at(c, 1), out);
    else
        span_put(at(c, 1), out);
    if (at(c, 2).n && *at(c, 2).s == '(') {
        span_put(at(c, 2), out);
    } else if (at(c, 2).n) {
        buf_adds(out, at(c, 3).n ? "+" : "±");
        span_put(at(c, 2), out);
        buf_adds(out, at(c, 3).n ? "−" : "");
        span_put(at(c, 3), out);
    }
    if (e.n && at(c, 1).n)
        times_ten(e, out);
    else if (e.n) {
        buf_adds(out, "10");
        superscript(e, out);
    }
    span_put(any(c, "s"), out);
    if (unit.n) {
        buf_adds(out, span_in(unit, "%|°") ? "" : " ");
        span_put(unit, out);
    }
    if (per.n) {
        buf_addc(out, '/');
        span_put(per, out);
    }
    return 1;
}

static int misura(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    span_put(at(c, 1), out);
    struct span unit = at(c, 3).n ? at(c, 3) : any(c, "u|ul");
    if (unit.n)
        buf_addc(out, ' ');
    return put_span(unit, out) || at(c, 1).n;
}

static int su(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    span_put(any(c, "p|1"), out);
    return put_span(any(c, "b|2"), out) || any(c, "p|1").n;
}

static int money(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)n;
    buf_adds(out, text);
    if (!at(c, 1).n)
        buf_rtrim(out);
    put_grouped(c, at(c, 1), out);
    return 1;
}

static int currency(const struct call *c, const char *text, int n, struct buf *out)
{
    static const char *const signs[][2] = { { "USD", "$" }, { "GBP", "£" }, { "EUR", "€" },
                                            { "JPY", "¥" }, { "INR", "₹" }, { "KRW", "₩" } };
    (void)text, (void)n;
    struct span code = any(c, "2|type");
    if (!any(c, "1|amount").n)
        return 0;
    const char *sign = NULL;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (span_is(code, signs[i][0]))
            sign = signs[i][1];
    if (sign || !code.n) {
        buf_adds(out, sign ? sign : "$");
    } else {
        span_put(code, out);
        buf_addc(out, ' ');
    }
    put_grouped(c, any(c, "1|amount"), out);
    return 1;
}

static int ordinal(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    int v;
    if (!span_number(at(c, 1), &v))
        return put_span(at(c, 1), out);
    const char *end = v % 100 / 10 == 1 ? "th"
                      : v % 10 == 1     ? "st"
                      : v % 10 == 2     ? "nd"
                      : v % 10 == 3     ? "rd"
                                        : "th";
    buf_addf(out, "%d%s", v, end);
    return 1;
}

static int nuclide(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    if (!at(c, 1).n)
        return 0;
    span_put(at(c, 1), out);
    buf_adds(out, at(c, 2).n ? "-" : "");
    span_put(at(c, 2), out);
    return 1;
}

/* ---- places, ships --------------------------------------------------------------------------- */

/* One of latitude and longitude: 46|12|N is 46°12′N, 46.2|N is 46.2°N. Returns the next place. */
static int put_angle(const struct call *c, int from, const char *letters, struct buf *out)
{
    static const char *const signs[] = { "°", "′", "″" };
    int i = 0;
    while (i < 3 && at(c, from + i).n && strchr("0123456789.", *at(c, from + i).s)) {
        span_put(at(c, from + i), out);
        buf_adds(out, signs[i++]);
    }
    struct span letter = at(c, from + i);
    if (!i || letter.n != 1 || !strchr(letters, *letter.s))
        return 0;
    span_put(letter, out);
    return from + i + 1;
}

static void put_signed(struct span s, char plus, char minus, struct buf *out)
{
    int negative = s.n && (*s.s == '-' || *s.s == '\x0C');
    if (negative)
        s.s++, s.n--;
    span_put(s, out);
    buf_addf(out, "°%c", negative ? minus : plus);
}

static int coord(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    struct span display = any(c, "display");
    size_t begin = out->len;
    if (display.n && !memmem(display.s, display.n, "inline", 6) && !span_is(display, "it"))
        return 0;
    int next = put_angle(c, 1, "NSns", out);
    if (next) {
        buf_addc(out, ' ');
        next = put_angle(c, next, "EWew", out);
    }
    if (next)
        return 1;
    buf_truncate(out, begin);
    if (!at(c, 1).n || !at(c, 2).n || !isdigit((unsigned char)at(c, 2).s[at(c, 2).n - 1]) ||
        !isdigit((unsigned char)at(c, 1).s[at(c, 1).n - 1]))
        return 0;
    put_signed(at(c, 1), 'N', 'S', out);
    buf_addc(out, ' ');
    put_signed(at(c, 2), 'E', 'W', out);
    return 1;
}

/* {{USS|Hornet|CV-12|6}}; n: where the prefix is an argument ({{ship|USS|Hornet|CV-12}}). */
static int ship(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text;
    int from = n ? 2 : 1, format = 0;
    struct span name = at(c, from), id = at(c, from + 1);
    if (!name.n)
        return 0;
    span_number(at(c, from + 2), &format);
    if (format == 1 && id.n)
        return put_span(id, out);
    if (format != 3 && format != 6) {
        if (n)
            span_put(at(c, 1), out);
        for (const char *s = n ? "" : c->name; *s; s++)
            buf_addc(out, toupper((unsigned char)*s));
        buf_addc(out, ' ');
    }
    span_put(name, out);
    if (id.n && format != 2 && format != 6) {
        buf_adds(out, " (");
        span_put(id, out);
        buf_addc(out, ')');
    }
    return 1;
}

/* ---- quotations, notes -------------------------------------------------------------------------
 */

/* A paragraph of its own, and who said it: "— Author, Source". */
static int quote(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    struct span said = any(c, "text|quote|content|testo|1");
    struct span by[] = { any(c, "author|sign|cite|by|autore"), any(c, "title|opera"),
                         any(c, "source|publication|fonte") };
    int box = strstr(c->name, "box") != NULL;
    if (!said.n)
        return 0;
    if (!by[0].n && !box && !span_in(at(c, 2), "left|right|center|lang"))
        by[0] = at(c, 2);
    if (!by[2].n && !box && at(c, 2).n)
        by[2] = at(c, 3);
    buf_adds(out, "\n\n");
    span_put(said, out);
    const char *before = "\n\n— ";
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        if (!by[i].n)
            continue;
        buf_adds(out, before);
        span_put(by[i], out);
        before = ", ";
    }
    buf_adds(out, "\n\n");
    return 1;
}

/* "Main article: Moon" by option: a paragraph of its own. */
static int hatnote(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)n;
    if (!c->page->hatnotes || !at(c, 1).n)
        return 0;
    buf_adds(out, "\n\n");
    buf_adds(out, text);
    for (int i = 1; i <= c->a.count; i++) {
        if (!at(c, i).n)
            continue;
        char key[16];
        snprintf(key, sizeof key, "l%d", i);
        if (i > 1)
            buf_adds(out, i == c->a.count ? " and " : ", ");
        struct span label = any(c, key);
        span_put(label.n ? label : at(c, i), out);
    }
    buf_adds(out, "\n\n");
    return 1;
}

static int convert(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text;
    return convert_render(&c->a, n, out);
}

/* ---- the table
 * ------------------------------------------------------------------------------------ */

/* Sorted by name; names are folded to lower case. "it:m" is a name on the Italian wiki alone. */
/* clang-format off */
static const struct entry {
    const char *name;
    renderer render;
    const char *text;
    int n;
} entries[] = {
    { "\" '", say, "\"'", 0 }, { "\"'", say, "\"'", 0 }, { "$", money, "$", 0 },
    { "'", say, "'", 0 }, { "' \"", say, "'\"", 0 }, { "'\"", say, "'\"", 0 },
    { "'s", say, "'s", 0 }, { "...", say, "[…]", 0 }, { "0", say, " ", 0 },
    { "00", say, " ", 0 }, { "=", equals, NULL, 0 }, { "a$", money, "A$", 0 },
    { "abbr", nth, NULL, 1 }, { "abbreviation", nth, NULL, 1 }, { "abbrv", nth, NULL, 1 },
    { "abs", wrap, "| |", 0 }, { "align", nth, NULL, 1 }, { "aligned", nth, NULL, 1 },
    { "allcaps", nth, NULL, 1 }, { "also", hatnote, "See also: ", 1 },
    { "angbr", wrap, "⟨ ⟩", 0 }, { "angbr ipa", wrap, "⟨ ⟩", 0 },
    { "angle", say, "∠", 0 }, { "angle bracket", wrap, "⟨ ⟩", 0 },
    { "angle brackets", wrap, "⟨ ⟩", 0 }, { "article link", nth, NULL, 1 },
    { "arxiv", numbers, "arXiv:", 0 }, { "as of", as_of, NULL, 0 }, { "as written", nth, NULL, 1 },
    { "asof", as_of, NULL, 0 }, { "aud", money, "A$", 0 }, { "audio", nth, NULL, 2 },
    { "audio-ipa", nth, NULL, 2 }, { "b", nth, NULL, 1 }, { "background color", nth, NULL, 2 },
    { "bandiera", bandiera, NULL, 0 }, { "basepagename", title, NULL, 0 },
    { "bda", date, NULL, 0 }, { "big", nth, NULL, 1 }, { "bigger", nth, NULL, 1 },
    { "bigmath", nth, NULL, 1 }, { "birth date", date, NULL, 0 },
    { "birth date and age", date, NULL, 0 }, { "birth date and age2", date, NULL, 0 },
    { "birth year and age", nth, NULL, 1 }, { "birth-date", date, NULL, 0 },
    { "birth-date and age", date, NULL, 0 }, { "blist", list_lines, NULL, 0 },
    { "block quote", quote, NULL, 0 }, { "blockquote", quote, NULL, 0 }, { "bold", nth, NULL, 1 },
    { "born in", circa, "b. ", 0 }, { "bquote", quote, NULL, 0 }, { "braces", wrap, "{ }", 0 },
    { "bracket", wrap, "[ ]", 0 }, { "brackets", wrap, "[ ]", 0 }, { "bull", say, " · ", 0 },
    { "bullet", say, " · ", 0 }, { "bulleted list", list_lines, NULL, 0 },
    { "c$", money, "C$", 0 }, { "c.", circa, "c. ", 0 }, { "ca", circa, "c. ", 0 },
    { "ca.", circa, "c. ", 0 }, { "cad", money, "C$", 0 }, { "cassetto", nth, "testo", 2 },
    { "cat main", hatnote, "Main article: ", 1 }, { "catmain", hatnote, "Main article: ", 1 },
    { "center", nth, NULL, 1 }, { "centered pull quote", quote, NULL, 0 },
    { "centre", nth, NULL, 1 }, { "char", nth, NULL, 1 }, { "chem", join, NULL, 0 },
    { "chem name", join, NULL, 0 }, { "chem2", join, NULL, 0 },
    { "chemical formula", join, NULL, 0 }, { "chf", money, "CHF ", 0 },
    { "chiarire", nth, NULL, 1 }, { "circa", circa, "c. ", 0 }, { "circa.", circa, "c. ", 0 },
    { "citation needed span", nth, NULL, 1 }, { "citazione", quote, NULL, 0 },
    { "citazione necessaria", nth, NULL, 1 }, { "cjkフォント", nth, NULL, 1 },
    { "clarify span", nth, NULL, 1 }, { "cn-span", nth, NULL, 1 }, { "cny", money, "CN¥", 0 },
    { "cn¥", money, "CN¥", 0 }, { "code", nth, NULL, 1 }, { "col-list", nth, NULL, 2 },
    { "colbreak-list", nth, NULL, 2 }, { "color", nth, NULL, 2 }, { "colore", nth, NULL, 2 },
    { "colour", nth, NULL, 2 }, { "column-list", nth, NULL, 2 }, { "columns-list", nth, NULL, 2 },
    { "comma separated entries", list_inline, ", ", 0 }, { "conv", convert, NULL, 0 },
    { "convert", convert, NULL, 0 }, { "converter", convert, NULL, 0 },
    { "convertir", convert, NULL, 0 }, { "coor d", coord, NULL, 0 }, { "coor dm", coord, NULL, 0 },
    { "coor dms", coord, NULL, 0 }, { "coord", coord, NULL, 0 }, { "coords", coord, NULL, 0 },
    { "cquote", quote, NULL, 0 }, { "crossref", nth, NULL, 1 }, { "crossreference", nth, NULL, 1 },
    { "cslist", list_inline, ", ", 0 }, { "css", ship, NULL, 0 }, { "csv", list_inline, ", ", 0 },
    { "currency", currency, NULL, 0 }, { "cvt", convert, NULL, 1 },
    { "data di nascita", date, NULL, 0 }, { "date table sorting", nth, NULL, 1 },
    { "dda", date, NULL, 3 }, { "death date", date, NULL, 0 },
    { "death date and age", date, NULL, 3 }, { "death-date", date, NULL, 0 },
    { "death-date and age", date, NULL, 3 }, { "decrease", say, "▼", 0 },
    { "define", nth, NULL, 1 }, { "defn", nth, NULL, 1 }, { "deg", say, "°", 0 },
    { "degree", say, "°", 0 }, { "del", nth, NULL, 1 },
    { "details", hatnote, "For more details, see ", 1 }, { "died in", circa, "d. ", 0 },
    { "disputato", nth, NULL, 1 }, { "dob", date, NULL, 0 }, { "dod", date, NULL, 0 },
    { "doi", numbers, "doi:", 0 }, { "dollar", money, "$", 0 }, { "dot", say, " · ", 0 },
    { "double underline", nth, NULL, 1 }, { "dts", nth, NULL, 1 }, { "du", nth, NULL, 1 },
    { "dubious span", nth, NULL, 1 }, { "e", power, NULL, 0 }, { "em", nth, NULL, 1 },
    { "em dash", say, "—", 0 }, { "em space", say, " ", 0 }, { "em-dash", say, "—", 0 },
    { "emdash", say, "—", 0 }, { "en dash", say, "–", 0 }, { "en-dash", say, "–", 0 },
    { "end date", date, NULL, 0 }, { "endash", say, "–", 0 }, { "epigraph", quote, NULL, 0 },
    { "eqm", say, " ⇌ ", 0 }, { "equilibrium", say, " ⇌ ", 0 }, { "esp", power, NULL, 0 },
    { "eur", money, "€", 0 }, { "euro", money, "€", 0 }, { "exp", exp_it, NULL, 0 },
    { "fact span", nth, NULL, 1 }, { "figure space", say, " ", 0 }, { "film date", date, NULL, 0 },
    { "fl.", circa, "fl. ", 0 }, { "flag", nth, "name", 1 }, { "flag country", nth, "name", 1 },
    { "flag+link", nth, "name", 1 }, { "flagathlete", nth, "name", 1 },
    { "flagcountry", nth, "name", 1 }, { "flagg", nth, "name", 1 }, { "flaglist", nth, "name", 1 },
    { "flagmain", nth, "name", 1 }, { "flagu", nth, "name", 1 },
    { "flat list", list_inline, " · ", 0 }, { "flatlist", nth, NULL, 1 },
    { "floruit", circa, "fl. ", 0 }, { "flourished", circa, "fl. ", 0 }, { "font", nth, NULL, 2 },
    { "font size", nth, NULL, 2 }, { "fontcolor", nth, NULL, 2 }, { "fontsize", nth, NULL, 2 },
    { "formatnum", grouped, NULL, 1 }, { "frac", fraction, "⁄", 0 },
    { "fraction", fraction, "⁄", 0 }, { "frase", quote, NULL, 0 },
    { "fullpagename", title, NULL, 0 }, { "furigana", reading, NULL, 0 },
    { "further", hatnote, "Further information: ", 1 },
    { "further info", hatnote, "Further information: ", 1 },
    { "further information", hatnote, "Further information: ", 1 },
    { "gap quote", quote, NULL, 0 }, { "gaps", join, NULL, 0 }, { "gbp", money, "£", 0 },
    { "glossary link", nth, NULL, 1 }, { "glossary link internal", nth, NULL, 1 },
    { "grapheme", wrap, "⟨ ⟩", 0 }, { "gts", ship, NULL, 0 }, { "h:title", nth, NULL, 1 },
    { "hair space", say, " ", 0 }, { "hairsp", say, " ", 0 }, { "hamza", say, "ʻ", 0 },
    { "hangul", nth, NULL, 1 }, { "hanja", nth, NULL, 1 }, { "hatnote", hatnote, "", 1 },
    { "hauptartikel", hatnote, "Main article: ", 1 }, { "hidden", nth, "testo", 2 },
    { "highlight", nth, NULL, 2 }, { "hlist", list_inline, " · ", 0 },
    { "hlist-comma", list_inline, "、", 0 }, { "hmas", ship, NULL, 0 }, { "hmcs", ship, NULL, 0 },
    { "hmnzs", ship, NULL, 0 }, { "hms", ship, NULL, 0 }, { "hmt", ship, NULL, 0 },
    { "hoofdartikel", hatnote, "Main article: ", 1 }, { "hover title", nth, NULL, 1 },
    { "i", nth, NULL, 1 }, { "ill", nth, NULL, 1 }, { "ill2", nth, NULL, 1 },
    { "illm", nth, NULL, 1 }, { "ilq", nth, NULL, 1 }, { "increase", say, "▲", 0 },
    { "indent", quote, NULL, 0 }, { "indian rupee", money, "₹", 0 },
    { "indianrupee", money, "₹", 0 }, { "inline block", nth, NULL, 1 },
    { "inline quote", nth, NULL, 1 }, { "inline-block", nth, NULL, 1 }, { "inr", money, "₹", 0 },
    { "ins", nth, NULL, 1 }, { "interlang", nth, NULL, 1 }, { "interlanguage link", nth, NULL, 1 },
    { "interlanguage link multi", nth, NULL, 1 }, { "interpunct", say, " · ", 0 },
    { "ipa", ipa, NULL, 0 }, { "ipa angbr", nth, NULL, 1 }, { "ipa link", nth, NULL, 1 },
    { "ipa-all", nth, NULL, 1 }, { "ipa2", nth, NULL, 1 }, { "ipablink", nth, NULL, 1 },
    { "ipac-en", ipac, NULL, 0 }, { "ipalink", nth, NULL, 1 }, { "ipasymbol", nth, NULL, 1 },
    { "isbn", numbers, "ISBN ", 0 }, { "isbn-10", numbers, "ISBN ", 0 },
    { "isbn-13", numbers, "ISBN ", 0 }, { "isbn2", numbers, "ISBN ", 0 },
    { "isbnt", numbers, "ISBN ", 0 }, { "isotope", nuclide, NULL, 0 },
    { "issn", numbers, "ISSN ", 0 }, { "it:citazione necessaria", nth, NULL, 1 },
    { "it:cn", nth, NULL, 1 }, { "it:exp", exp_it, NULL, 0 }, { "it:m", misura, NULL, 0 },
    { "it:maiuscoletto", nth, NULL, 1 }, { "it:numero", grouped, NULL, 1 },
    { "it:q", quote, NULL, 0 }, { "it:ta", nth, NULL, 1 }, { "italic", nth, NULL, 1 },
    { "italics", nth, NULL, 1 }, { "j", nth, NULL, 1 }, { "ja:ipa", ipa_ja, NULL, 0 },
    { "jis2004フォント", nth, NULL, 1 }, { "jpy", money, "¥", 0 },
    { "jpy yen", money, "¥", 0 }, { "jstor", numbers, "JSTOR ", 0 }, { "kbd", nth, NULL, 1 },
    { "key", nth, NULL, 1 }, { "key press", nth, NULL, 1 }, { "keypress", nth, NULL, 1 },
    { "korean", nth, "hangul", 1 }, { "krw", money, "₩", 0 }, { "lang", nth, NULL, 2 },
    { "lang-mul", nth, NULL, 1 }, { "langx", langx, NULL, 0 }, { "large", nth, NULL, 1 },
    { "larger", nth, NULL, 1 }, { "latex", say, "LaTeX", 0 }, { "launch date", date, NULL, 0 },
    { "left", nth, NULL, 1 }, { "legend", nth_line, NULL, 2 },
    { "legend inline", nth_line, NULL, 2 }, { "legend0", nth_line, NULL, 2 },
    { "legend2", nth, NULL, 2 }, { "link audio", nth, NULL, 2 }, { "link language", nth, NULL, 2 },
    { "link-interwiki", nth, NULL, 1 }, { "linktext", join, NULL, 0 }, { "lj", nth, NULL, 1 },
    { "location coord", coord, NULL, 0 }, { "long quote", quote, NULL, 0 },
    { "ltr-lang", nth, NULL, 2 }, { "m s.l.m.", say, "m s.l.m.", 0 },
    { "main", hatnote, "Main article: ", 1 }, { "main article", hatnote, "Main article: ", 1 },
    { "main articles", hatnote, "Main article: ", 1 }, { "main2", hatnote, "Main article: ", 1 },
    { "marriage", marriage, NULL, 0 }, { "math", nth, NULL, 1 }, { "mdash", say, "—", 0 },
    { "mdashb", say, "—", 0 }, { "middle", nth, NULL, 1 }, { "middot", say, " · ", 0 },
    { "midsize", nth, NULL, 1 }, { "mirrorh", nth, NULL, 1 }, { "mono", nth, NULL, 1 },
    { "more details", hatnote, "For more details, see ", 1 }, { "ms", ship, NULL, 0 },
    { "mslm", say, "m s.l.m.", 0 }, { "mt", ship, NULL, 0 }, { "music", music, NULL, 0 },
    { "mv", ship, NULL, 0 }, { "mvar", nth, NULL, 1 }, { "nastaliq", nth, NULL, 1 },
    { "native name", last, NULL, 2 }, { "nativename", last, NULL, 2 }, { "nbsp", say, " ", 0 },
    { "ndash", say, "–", 0 }, { "ndash spaced", say, " – ", 0 },
    { "needs citation", nth, NULL, 1 }, { "nihongo", nihongo, NULL, 0 },
    { "nihongo core", nth, NULL, 1 }, { "nihongo foot", nth, NULL, 1 },
    { "nihongo krt", nihongo, NULL, 0 }, { "nihongo title", nihongo, NULL, 0 },
    { "nihongo2", nth, NULL, 1 }, { "nihongo3", nihongo3, NULL, 0 },
    { "nihongo4", nihongo, NULL, 0 }, { "nnbsp", say, " ", 0 }, { "no.", prefix, "No. ", 0 },
    { "nobold", nth, NULL, 1 }, { "nobr", nth, NULL, 1 }, { "nobreak", nth, NULL, 1 },
    { "nobullet", list_lines, NULL, 0 }, { "noitalic", nth, NULL, 1 }, { "normal", nth, NULL, 1 },
    { "not a typo", nth, NULL, 1 }, { "nota disambigua testo", hatnote, "", 1 },
    { "notatypo", nth, NULL, 1 }, { "nowrap", nth, NULL, 1 }, { "nowraplinks", nth, NULL, 1 },
    { "nts", grouped, NULL, 1 }, { "nuclide", nuclide, NULL, 0 }, { "nuclide2", nuclide, NULL, 0 },
    { "number", grouped, NULL, 1 }, { "number sign", prefix, "No. ", 0 },
    { "number table sorting", grouped, NULL, 1 }, { "nwr", nth, NULL, 1 },
    { "nz$", money, "NZ$", 0 }, { "nzd", money, "NZ$", 0 }, { "oclc", numbers, "OCLC ", 0 },
    { "okina", say, "ʻ", 0 }, { "old style date", oldstyle, NULL, 0 },
    { "oldstyledate", oldstyle, NULL, 0 }, { "ord", ordinal, NULL, 0 },
    { "ordered list", list_lines, NULL, 0 }, { "ordinal", ordinal, NULL, 0 },
    { "ordinal to word", ordinal, NULL, 0 }, { "orthography", wrap, "⟨ ⟩", 0 },
    { "overline", nth, NULL, 1 }, { "pad", say, " ", 0 }, { "pagename", title, NULL, 0 },
    { "pagenamebase", title, NULL, 0 }, { "philippine peso", money, "₱", 0 },
    { "php", money, "₱", 0 }, { "plain list", nth, NULL, 1 }, { "plainlist", nth, NULL, 1 },
    { "plainlist list", list_lines, NULL, 0 }, { "pmid", numbers, "PMID ", 0 },
    { "poem", quote, NULL, 0 }, { "poem quote", quote, NULL, 0 }, { "poema", quote, NULL, 0 },
    { "poemquote", quote, NULL, 0 }, { "polytonic", nth, NULL, 1 },
    { "pound sterling", money, "£", 0 }, { "pronunciation", respell, NULL, 0 },
    { "pronunciation respelling", respell, NULL, 0 }, { "proper name", nth, NULL, 1 },
    { "pull quote", quote, NULL, 0 }, { "quotation", quote, NULL, 0 }, { "quote", quote, NULL, 0 },
    { "quote box", quote, NULL, 0 }, { "quotebox", quote, NULL, 0 }, { "r.", years, "r. ", 0 },
    { "rail gauge", nth, NULL, 1 }, { "railgauge", nth, NULL, 1 }, { "reign", years, "r. ", 0 },
    { "release date", date, NULL, 0 }, { "rellink", hatnote, "", 1 }, { "resize", nth, NULL, 2 },
    { "respell", respell, NULL, 0 }, { "rfs", ship, NULL, 0 }, { "right", nth, NULL, 1 },
    { "rmb", money, "CN¥", 0 }, { "rms", ship, NULL, 0 }, { "root page name", title, NULL, 0 },
    { "rotate", nth, NULL, 1 }, { "rquote", quote, NULL, 0 }, { "rtl-lang", nth, NULL, 2 },
    { "rub", money, "₽", 0 }, { "ruby", reading, NULL, 0 }, { "samp", nth, NULL, 1 },
    { "sans-serif", nth, NULL, 1 }, { "sc", nth, NULL, 1 }, { "script", nth, NULL, 2 },
    { "script/latn", last, NULL, 2 }, { "second fraction", fraction, "/", 0 },
    { "section link", nth, NULL, 1 }, { "sectionlink", nth, NULL, 1 },
    { "see", hatnote, "See also: ", 1 }, { "see above", nth, NULL, 1 },
    { "see also", hatnote, "See also: ", 1 }, { "see below", nth, NULL, 1 },
    { "seealso", hatnote, "See also: ", 1 }, { "senza fonte", nth, NULL, 1 },
    { "serif", nth, NULL, 1 }, { "sfrac", fraction, "/", 0 }, { "sfracn", fraction, "/", 0 },
    { "ship", ship, NULL, 3 }, { "ship class name", nth, NULL, 1 }, { "sic", sic, NULL, 0 },
    { "slink", nth, NULL, 1 }, { "small", nth, NULL, 1 }, { "small caps", nth, NULL, 1 },
    { "smallcaps", nth, NULL, 1 }, { "smallcaps all", nth, NULL, 1 }, { "smaller", nth, NULL, 1 },
    { "smallmath", nth, NULL, 1 }, { "smallsup", nth, NULL, 1 }, { "smd", say, " — ", 0 },
    { "sms", ship, NULL, 0 }, { "snd", say, " – ", 0 }, { "sndash", say, " – ", 0 },
    { "snds", say, " – ", 0 }, { "sort", nth, NULL, 2 }, { "sortname", sortname, NULL, 0 },
    { "sorttext", nth, NULL, 2 }, { "sp", say, " ", 0 }, { "space", say, " ", 0 },
    { "spaced em dash", say, " — ", 0 }, { "spaced en dash", say, " – ", 0 },
    { "spaced mdash", say, " — ", 0 }, { "spaced ndash", say, " – ", 0 },
    { "spaces", say, " ", 0 }, { "spnd", say, " – ", 0 }, { "spndash", say, " – ", 0 },
    { "ss", ship, NULL, 0 }, { "start date", date, NULL, 0 },
    { "start date and age", date, NULL, 0 }, { "steady", say, NULL, 0 },
    { "strike", nth, NULL, 1 }, { "strikethrough", nth, NULL, 1 }, { "strong", nth, NULL, 1 },
    { "su", su, NULL, 0 }, { "su2", nth, NULL, 1 }, { "sub", nth, NULL, 1 },
    { "subpagename", title, NULL, 0 }, { "sup", nth, NULL, 1 },
    { "talk quote inline", nth, NULL, 1 }, { "talkquote inline", nth, NULL, 1 },
    { "term", nth, NULL, 1 }, { "tex", say, "TeX", 0 }, { "text", nth, NULL, 1 },
    { "thin space", say, " ", 0 }, { "thinsp", say, " ", 0 }, { "tlit", last, NULL, 2 },
    { "tmath", nth, NULL, 1 }, { "tooltip", nth, NULL, 1 }, { "tq", nth, NULL, 1 },
    { "track gauge", nth, NULL, 1 }, { "transh", nth, NULL, 1 }, { "transl", last, NULL, 2 },
    { "translit", last, NULL, 2 }, { "transliteration", last, NULL, 2 },
    { "transp", nth, NULL, 1 }, { "tutto attaccato", nth, NULL, 1 }, { "typo", nth, NULL, 1 },
    { "ubl", list_lines, NULL, 0 }, { "ublist", list_lines, NULL, 0 }, { "uc", nth, NULL, 1 },
    { "ul", list_lines, NULL, 0 }, { "unbulleted list", list_lines, NULL, 0 },
    { "unbulletedlist", list_lines, NULL, 0 }, { "underline", nth, NULL, 1 },
    { "unichar", unichar, NULL, 0 }, { "unicode", nth, NULL, 1 }, { "uo", nth, NULL, 1 },
    { "us$", money, "US$", 0 }, { "usat", ship, NULL, 0 }, { "uscgc", ship, NULL, 0 },
    { "usd", money, "US$", 0 }, { "usns", ship, NULL, 0 }, { "uss", ship, NULL, 0 },
    { "val", val, NULL, 0 }, { "vanchor", nth, NULL, 1 }, { "var", nth, NULL, 1 },
    { "vedi anche", hatnote, "Lo stesso argomento in dettaglio: ", 1 },
    { "verse translation", quote, NULL, 0 }, { "visible", nth, NULL, 1 },
    { "visible anchor", nth, NULL, 1 }, { "visibleanchor", nth, NULL, 1 },
    { "vol.", prefix, "Vol. ", 0 }, { "volume", prefix, "Vol. ", 0 }, { "vr", wrap, "⟨ ⟩", 0 },
    { "vunblist", list_lines, NULL, 0 }, { "w", nth, NULL, 1 }, { "wikt-lang", nth, NULL, 2 },
    { "wiktlang", nth, NULL, 1 }, { "wp", nth, NULL, 1 }, { "xref", nth, NULL, 1 },
    { "zh", chinese, NULL, 0 }, { "zh-full", chinese, NULL, 0 }, { "zwj space", say, " ", 0 },
    { "£", money, "£", 0 }, { "¥", money, "¥", 0 }, { "·", say, " · ", 0 },
    { "–", say, "–", 0 }, { "—", say, "—", 0 }, { "•", say, " · ", 0 },
    { "₩", money, "₩", 0 }, { "€", money, "€", 0 }, { "₱", money, "₱", 0 },
    { "₹", money, "₹", 0 }, { "₽", money, "₽", 0 }, { "いつ範囲", nth, NULL, 1 },
    { "ルビ", nth, NULL, 1 }, { "下げ核", nth, NULL, 1 }, { "仮リンク", nth, NULL, 1 },
    { "拡張漢字", nth, NULL, 1 }, { "独自研究範囲", nth, NULL, 1 },
    { "疑問点範囲", nth, NULL, 1 }, { "補助漢字フォント", nth, NULL, 1 },
    { "要出典範囲", nth, NULL, 1 }, { "要検証範囲", nth, NULL, 1 },
    { "要説明範囲", nth, NULL, 1 }, { "読み", reading, NULL, 0 },
    { "読み仮名", reading, NULL, 0 }, { "誰範囲", nth, NULL, 1 },
};
/* clang-format on */

static int compare_entry(const void *key, const void *item)
{
    return strcmp(key, ((const struct entry *)item)->name);
}

static const struct entry *find_entry(const char *name)
{
    return bsearch(name, entries, sizeof entries / sizeof *entries, sizeof *entries, compare_entry);
}

/* Lower case, one space between words, without "Template:". 0 when it is too long. */
static size_t fold(char out[NAME_MAX_BYTES], const char *s, size_t n)
{
    struct span name = span_trim(s, n);
    size_t len = 0;
    if (name.n > 9 && !strncasecmp(name.s, "template:", 9))
        name = span_trim(name.s + 9, name.n - 9);
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.s[i];
        c = c == '_' ? ' ' : c < 0x80 ? (unsigned char)tolower(c) : c;
        if (c == ' ' && len && out[len - 1] == ' ')
            continue;
        if (len == NAME_MAX_BYTES - 1)
            return 0;
        out[len++] = (char)c;
    }
    out[len] = '\0';
    return len;
}

/* Families: {{lang-ru|…}}, {{IPA-de|…}}, Japanese {{lang-en-short|…}} and {{en|…}}, Latgalian
 * {{vol-ru|…}}. */
static int render_family(const struct call *c, size_t len, struct buf *out)
{
    const char *name = c->name;
    if (len > 5 && !memcmp(name, "lang-", 5)) {
        if (len > 11 && !memcmp(name + len - 6, "-short", 6))
            return put_span(at(c, 1), out);
        return named_language(c, name + 5, len - 5, 1, out);
    }
    if (len > 4 && !memcmp(name, "ipa-", 4)) {
        return pronounced(c, (struct span) { name + 4, len - 4 }, 1, out);
    }
    if (len > 4 && !memcmp(name, "vol-", 4))
        return put_span(at(c, 1), out);
    if (len > 10 && !memcmp(name, "formatnum:", 10)) {
        put_grouped(c, span_trim(name + 10, len - 10), out);
        return 1;
    }
    if (len <= 3 && !strcmp(c->page->lang, "ja") && language_name(name, len, ""))
        return put_span(at(c, 1), out);
    return 0;
}

/* Names of families are recognised by their beginnings. */
static int may_be_family(const char *name, size_t len)
{
    return memchr("livf", name[0], 4) || len <= 3;
}

/* The entry for a folded name, on this wiki. */
static const struct entry *find_on(const struct template_page *page, const char *name)
{
    char local[NAME_MAX_BYTES + 16];
    const struct entry *e = NULL;
    if (strlen(page->lang) < 8 && strcmp(page->lang, "en")) {
        snprintf(local, sizeof local, "%s:%s", page->lang, name);
        e = find_entry(local);
    }
    return e ? e : find_entry(name);
}

int template_known(const struct template_page *page, const char *s, size_t n)
{
    static const char *const families[] = { "lang-", "ipa-", "vol-", "formatnum:" };
    char name[NAME_MAX_BYTES];
    size_t len = fold(name, s, n);
    const struct entry *e = len ? find_on(page, name) : NULL;
    if (e)
        return e->render == hatnote && !page->hatnotes ? 2 : 1;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strncmp(name, families[i], strlen(families[i])) && len)
            return 1;
    return len && len <= 3 && !strcmp(page->lang, "ja") && language_name(name, len, "");
}

int template_render(void *ctx, const struct wikitext_call *source, struct buf *out)
{
    const struct template_page *page = ctx;
    char name[NAME_MAX_BYTES];
    size_t len = fold(name, source->name, source->name_len);
    const struct entry *e = len ? find_on(page, name) : NULL;
    if (!e && (!len || !may_be_family(name, len)))
        return 0;
    struct call c;
    c.page = page;
    c.source = source;
    c.name = name;
    arguments_read(&c.a, source);
    return e ? e->render(&c, e->text, e->n, out) : render_family(&c, len, out);
}
