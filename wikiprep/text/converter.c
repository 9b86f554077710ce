#include "wikiprep/text/converter.h"

#include <ctype.h>

#include "common/base/lines.h"
#include "common/base/utf8.h"
#include "wikiprep/values/marks.h"

enum { ADD = 1, TITLE = 2, RAW = 4, DESCRIBE = 8, REMOVE = 16, HIDE = 32, NAME = 64, SHOW = 128 };

/* Limits of memory and time for a page; MediaWiki limits the size of the whole page instead. */
enum {
    TEXT_MAX = 1024,     /* bytes of a word's replacement; words with longer ones are left out */
    RULES_MAX = 20000,   /* words of a page; further ones are left out */
    MORE_MAX = 16 << 20, /* bytes that replacements add to a page; then words stay as they are */
};

/* An item of a markup: "zh-cn:text" or "from=>zh-cn:text". */
struct item {
    int variant;
    struct span from, to; /* from.s NULL: `to` replaces the texts of the other variants */
};

struct converter {
    const struct variants *v;
    struct word *rules; /* words that the page adds or removes, in page order; owned */
    size_t count, cap;
    size_t active;             /* number of rules that apply now */
    struct replacements *page; /* the rules that apply now; NULL: none */
    size_t more;               /* bytes that replacements have added */
    int is_own;                /* the page is in the chosen alphabet, or wants no conversion */
    struct item *items;        /* of the current markup */
    size_t item_count, items_cap;
    struct span both[VARIANTS_MAX]; /* texts of the current markup by variant; s NULL: none */
    struct buf inner, work;
};

static struct span trimmed(const char *s, const char *end)
{
    return span_trim_space(span_between(s, end));
}

/* ---- the markup ------------------------------------------------------------------------------ */

/* Returns the bits of the flags in [s, end] that are letters. Sets *fits, -1 before, to 1 if a flag
 * is the chosen variant or a fallback of it, else to 0 if a flag is another variant. */
static unsigned read_flags(const struct converter *c, const char *s, const char *end, int *fits)
{
    static const char letters[] = "ATRD-HNS";
    unsigned flags = 0;
    for (const char *stop; s <= end; s = stop + 1) {
        stop = span_until(s, end, ';');
        struct span word = trimmed(s, stop);
        const char *letter = word.n == 1 ? strchr(letters, *word.s) : NULL;
        flags |= letter ? 1u << (letter - letters) : 0;
        int variant = span_place(word, c->v->list), same = variant == c->v->chosen;
        if (variant < 0)
            continue;
        for (const signed char *k = c->v->fallbacks[c->v->chosen]; *k >= 0; k++)
            same |= variant == *k;
        *fits = *fits > 0 || same;
    }
    return flags;
}

/* Returns 1 if the code of a variant and a colon stand at s, after spaces, else 0. */
static int at_code(const struct converter *c, const char *s, const char *end)
{
    const char *colon = memchr(s, ':', (size_t)(end - s));
    return colon && span_place(trimmed(s, colon), c->v->list) >= 0;
}

/* Returns the end of the item at s: a ';' that an item or only spaces follow, or `end`. */
static const char *item_end(const struct converter *c, const char *s, const char *end)
{
    for (; (s = memchr(s, ';', (size_t)(end - s))); s++) {
        const char *stop = span_until(s + 1, end, ';'), *arrow = bytes_find(s, stop, "=>", 2);
        if (at_code(c, s + 1, stop) || (arrow && at_code(c, arrow + 2, stop)) ||
            !trimmed(s + 1, end).n)
            return s;
    }
    return end;
}

/* Reads `rules` into c->items and c->both. If an item has an unknown variant, leaves both empty. */
static void read_items(struct converter *c, struct span rules)
{
    rules = span_trim_space(rules);
    for (const char *end = rules.s + rules.n, *s = rules.s, *stop; s < end; s = stop + 1) {
        stop = item_end(c, s, end);
        const char *colon = memchr(s, ':', (size_t)(stop - s));
        if (!colon)
            continue;
        const char *arrow = bytes_find(s, colon, "=>", 2);
        struct item it = { .variant = span_place(trimmed(arrow ? arrow + 2 : s, colon), c->v->list),
                           .from = arrow ? trimmed(s, arrow) : (struct span){ NULL, 0 },
                           .to = trimmed(colon + 1, stop) };
        if (it.variant < 0) {
            c->item_count = 0;
            memset(c->both, 0, sizeof c->both);
            return;
        }
        if (arrow ? !it.from.n : !it.to.n)
            continue;
        mem_next(c->items, c->item_count, c->items_cap) = it;
        if (!arrow)
            c->both[it.variant] = it.to;
    }
}

/* Returns the markup's text for a variant, or else for the first of its fallbacks that has a text.
 * If none has one, the span's s is NULL. */
static struct span text_of(const struct converter *c, int variant)
{
    struct span text = c->both[variant];
    for (const signed char *k = c->v->fallbacks[variant]; !text.s && *k >= 0; k++)
        text = c->both[*k];
    return text;
}

/* Returns what the markup shows in the chosen variant, or its first text. */
static struct span shown(const struct converter *c)
{
    struct span text = text_of(c, c->v->chosen);
    for (size_t i = 0; !text.s && i < c->item_count; i++)
        if (c->items[i].variant == c->v->chosen)
            text = c->items[i].to;
    return text.s ? text : c->items->to;
}

static void put_description(const struct converter *c, struct buf *out)
{
    for (size_t i = 0; i < c->item_count; i++) {
        const struct item *it = &c->items[i];
        span_put(it->from, out);
        buf_addf(out, "%s%s：", it->from.s ? "⇒" : "", variants_name(c->v->codes[it->variant]));
        span_put(it->to, out);
        buf_adds(out, "；");
    }
}

static void add_word(struct converter *c, struct span from, struct span to, unsigned flags)
{
    if (!from.n || from.n > WORD_MAX_BYTES || to.n > TEXT_MAX || c->count == RULES_MAX)
        return;
    struct word w = { { mem_strndup(from.s, from.n), from.n }, { NULL, to.n } };
    if (!(flags & REMOVE))
        w.to.s = mem_strndup(to.s, to.n);
    mem_next(c->rules, c->count, c->cap) = w;
}

/* Adds the words of the markup to those of the page: the text of each other variant is replaced by
 * that of the chosen one. */
static void add_words(struct converter *c, struct span rules, unsigned flags)
{
    if (!c->item_count)
        add_word(c, rules, rules, flags);
    for (int i = 0; i < c->v->count; i++)
        c->both[i] = text_of(c, i);
    struct span to = c->both[c->v->chosen];
    for (int i = 0; to.s && i < c->v->count; i++)
        if (c->both[i].s && i != c->v->chosen)
            add_word(c, c->both[i], to, flags);
    for (size_t i = 0; i < c->item_count; i++)
        if (c->items[i].from.s && c->items[i].variant == c->v->chosen)
            add_word(c, c->items[i].from, c->items[i].to, flags);
}

static void put_mark(const struct converter *c, struct buf *out)
{
    buf_addf(out, "%c%zu%c", MARKUP_RULE, c->count, MARKUP_RULE);
}

void converter_fix(const struct converter *c, struct buf *out)
{
    if (c->v && c->v->chosen)
        buf_addc(out, MARKUP_FIXED);
}

/* Appends text that is not converted: each of its lines stands between two MARKUP_FIXED. */
static void put_fixed(const struct converter *c, struct span s, struct buf *out)
{
    struct lines l = LINES_OF(s.s, s.n);
    while (lines_next(&l)) {
        converter_fix(c, out);
        buf_add(out, l.line, l.len);
        converter_fix(c, out);
        buf_add(out, "\n", l.at > l.line + l.len);
    }
}

/* Adds the flags that the given ones imply, and removes those that they cancel. */
static unsigned complete(unsigned flags)
{
    if (flags & (RAW | NAME | REMOVE))
        return flags & RAW ? RAW : flags & NAME ? NAME : REMOVE;
    if (flags & HIDE)
        return flags & (HIDE | TITLE | DESCRIBE);
    flags |= flags & ADD ? SHOW : 0;
    return flags & DESCRIBE ? flags & ~(unsigned)SHOW : flags ? flags : SHOW;
}

void converter_rule(struct converter *c, struct span inner, int nested, struct buf *out)
{
    int fits = -1;
    const char *end = inner.s + inner.n, *pipe = span_until(inner.s, end, '|');
    unsigned flags = SHOW;
    if (pipe < end) {
        flags = read_flags(c, inner.s, pipe, &fits);
        inner = span_between(pipe + 1, end);
        if (flags & (RAW | NAME | REMOVE | HIDE))
            fits = -1;
        if (fits > 0) { /* the text is converted */
            span_put(inner, out);
            if (nested)
                converter_line(c, out);
            return;
        }
        flags = fits ? complete(flags) : RAW;
    }
    buf_clear(&c->inner);
    for (size_t i = 0; i < inner.n; i++)
        if (inner.s[i] != MARKUP_FIXED)
            buf_addc(&c->inner, inner.s[i]);
    struct span rules = span_of_buf(&c->inner);
    c->item_count = 0;
    memset(c->both, 0, sizeof c->both);
    if (!(flags & (RAW | NAME)))
        read_items(c, rules);
    if (!c->item_count && !(flags & (ADD | HIDE | REMOVE | NAME | TITLE)))
        flags = RAW;
    buf_clear(&c->work);
    if (flags & NAME)
        buf_adds(&c->work, variants_name(span_trim_space(rules)));
    else if (flags & DESCRIBE && !(flags & ADD))
        put_description(c, &c->work);
    put_fixed(c,
              flags & RAW       ? rules
              : !(flags & SHOW) ? span_of_buf(&c->work)
              : c->item_count   ? shown(c)
                                : rules,
              out);
    if (!c->v->chosen || !(flags & (ADD | HIDE | REMOVE)))
        return;
    add_words(c, rules, flags);
    put_mark(c, out);
}

void converter_keep(const struct converter *c, struct span dropped, struct buf *out)
{
    if (c->count && memchr(dropped.s, MARKUP_RULE, dropped.n))
        put_mark(c, out);
}

/* ---- words ----------------------------------------------------------------------------------- */

static int in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Returns the length of one decimal digit in Roman letters at s, or 0. s ends with NUL. */
static size_t roman_digit(const char *s, char one, char five, char ten)
{
    if (*s == one && (s[1] == five || s[1] == ten))
        return 2;
    size_t n = *s == five, ones = 0;
    while (ones < 3 && s[n] == one)
        n++, ones++;
    return n;
}

/* Returns the length of the word at s if it is a Roman numeral, else 0. */
static size_t roman(const char *begin, const char *s)
{
    if (s > begin && in_word(s[-1]))
        return 0;
    size_t n = strspn(s, "M");
    n += roman_digit(s + n, 'C', 'D', 'M');
    n += roman_digit(s + n, 'X', 'L', 'C');
    n += roman_digit(s + n, 'I', 'V', 'X');
    return in_word(s[n]) ? 0 : n;
}

/* Returns the next address "scheme://…" in [s, end), or `end`, and sets *stop to its end. */
static const char *next_address(const char *s, const char *end, const char **stop)
{
    const char *begin = s;
    for (const char *at = s; (at = bytes_find(at, end, "://", 3)); at += 3) {
        for (s = at; s > begin && isalpha((unsigned char)s[-1]);)
            s--;
        if (s < at && (s == begin || (unsigned char)s[-1] >= 0x80 || strchr(" ([\"", s[-1]))) {
            *stop = at + strcspn(at, " []<>\"");
            *stop = *stop < end ? *stop : end;
            return s;
        }
    }
    return end;
}

/* Appends the text [s, end) in the chosen variant. */
static void convert(struct converter *c, const char *s, const char *end, struct buf *out)
{
    const char *begin = s, *stop = NULL, *address = next_address(s, end, &stop);
    while (s < end) {
        struct span to;
        unsigned first;
        size_t n = s == address ? (size_t)(stop - s) : c->v->own ? roman(begin, s) : 0;
        if (s == address)
            address = next_address(stop, end, &stop);
        if (!n && c->more < MORE_MAX &&
            (n = replacements_find(c->page, c->v->words, s, (size_t)(end - s), &to))) {
            span_put(to, out);
            c->more += to.n > n ? to.n - n : 0;
            s += n;
            continue;
        }
        n = n ? n : utf8_read(s, (size_t)(end - s), &first);
        buf_add(out, s, n);
        s += n;
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

/* Makes the first `count` words of the page apply. */
static void activate(struct converter *c, size_t count)
{
    if (!c->page && c->count)
        c->page = replacements_new();
    while (c->active < count && c->active < c->count)
        replacements_put(c->page, c->rules[c->active++]);
}

void converter_line(struct converter *c, struct buf *line)
{
    static const char marks[] = { MARKUP_FIXED, MARKUP_RULE, MARKUP_CODE, '\0' };
    int fixed = 0, in_code = 0;
    if (!c->v || !c->v->chosen)
        return;
    buf_clear(&c->work);
    for (const char *s = line->data, *end = s + line->len; s < end;) {
        size_t n = strcspn(s, marks);
        if (fixed || in_code || c->is_own)
            buf_add(&c->work, s, n);
        else
            convert(c, s, s + n, &c->work);
        s += n;
        if (*s == MARKUP_RULE) {
            activate(c, (size_t)atol(s + 1));
            s += strcspn(s + 1, marks) + 1;
        } else if (*s == MARKUP_CODE) {
            buf_addc(&c->work, *s);
            in_code = !in_code && memchr(s + 1, *s, (size_t)(end - s - 1));
        } else {
            fixed = !fixed;
        }
        s += s < end;
    }
    buf_swap(line, &c->work);
}

void converter_pass(struct converter *c, struct span marked)
{
    const char *end = marked.s + marked.n;
    for (const char *s = marked.s; c->active < c->count && s < end;) {
        s = memchr(s, MARKUP_RULE, (size_t)(end - s));
        if (!s)
            return;
        activate(c, (size_t)atol(s + 1));
        s += strcspn(s + 1, "\x1F") + 2;
    }
}

void converter_judge(struct converter *c, struct span marked)
{
    long more = 0;
    if (!c->v || !c->v->own)
        return;
    for (size_t i = 0; i + 1 < marked.n; i++) {
        const char letter[] = { marked.s[i], marked.s[i + 1], '\0' };
        if (((unsigned char)*letter & 0xE0) == 0xC0)
            more += (strstr(c->v->own, letter) != NULL) - (strstr(c->v->alien, letter) != NULL);
    }
    c->is_own |= more > 0;
}

void converter_stop(struct converter *c)
{
    c->is_own = 1;
}

int converter_reads(const struct converter *c)
{
    return c->v != NULL;
}

void converter_begin(struct converter *c, const struct variants *v)
{
    for (size_t i = 0; i < c->count; i++) {
        free((char *)c->rules[i].from.s);
        free((char *)c->rules[i].to.s);
    }
    replacements_free(c->page);
    c->page = NULL;
    c->count = c->active = c->more = 0;
    c->is_own = 0;
    c->v = v;
}

struct converter *converter_new(void)
{
    struct converter *c = mem_zalloc(1, sizeof *c);
    buf_init(&c->inner);
    buf_init(&c->work);
    return c;
}

void converter_free(struct converter *c)
{
    if (!c)
        return;
    converter_begin(c, NULL);
    free(c->rules);
    free(c->items);
    buf_release(&c->inner);
    buf_release(&c->work);
    free(c);
}
