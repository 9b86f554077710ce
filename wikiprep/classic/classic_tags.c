/* Drops, replaces or unwraps elements for classic.h, as WikiExtractor does. */
#include "wikiprep/classic/classic_pass.h"

#include <ctype.h>

#include "common/formats/document.h"
#include "unicode/whitespace.h"

/* Returns the position of the first '>' after `at`, or 0 if there is none within SPAN_TAG_MAX
 * bytes. */
static size_t first_gt(const struct buf *text, size_t at)
{
    size_t left = text->len - at;
    const char *gt = memchr(text->data + at, '>', left < SPAN_TAG_MAX ? left : SPAN_TAG_MAX);
    return gt ? (size_t)(gt - text->data) : 0;
}

static size_t closing_gt(const struct buf *text, size_t at)
{
    while (at < text->len && isspace((unsigned char)text->data[at]))
        at++;
    return text->data[at] == '>' ? at : 0;
}

/* Returns the end of the tag at text[at] if it is one of `names` (ending with NULL), else 0.
 * `quotes` 1: spaces may come before the name, and attribute values in quotes may contain '>'. */
static size_t tag_of(const struct buf *text, size_t at, const char *const *names, int quotes)
{
    for (; *names; names++) {
        size_t name = span_tag(text, at, *names, 0, quotes), gt = 0;
        if (name)
            gt = quotes ? span_tag_end(text, name) : first_gt(text, name);
        else if ((name = span_tag(text, at, *names, 1, 0)))
            gt = closing_gt(text, name);
        if (gt)
            return gt + 1;
    }
    return 0;
}

void classic_replace_breaks(struct classic *c, const char *const *names, int quotes, char with)
{
    const struct buf *text = &c->text;
    size_t done = 0;
    for (const char *s = text->data; (s = strchr(s, '<'));) {
        size_t at = (size_t)(s - text->data), end = tag_of(text, at, names, quotes);
        if (!end) {
            s++;
            continue;
        }
        classic_keep(c, done, at);
        const char *behind = text->data + end, *stop = text->data + text->len;
        if (at && !whitespace_before(text->data, at) && behind < stop &&
            !whitespace_at(behind, (size_t)(stop - behind)))
            buf_addc(&c->next, with);
        done = end;
        s = behind;
    }
    classic_finish(c, done);
}

/* Returns the end of the tag <tag/> at text[at]; 0 if there is none. */
static size_t empty_tag(const struct buf *text, size_t at)
{
    static const char *const names[] = { "nobr",           "ref",    "references", "nowiki",
                                         "templatestyles", "section" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t name = span_tag(text, at, names[i], 0, 1), gt = name ? span_tag_end(text, name) : 0;
        size_t last = gt;
        while (last > name && isspace((unsigned char)text->data[last - 1]))
            last--;
        if (gt && (!i || (last > name && text->data[last - 1] == '/')))
            return gt + 1;
    }
    return 0;
}

void classic_drop_tags(struct classic *c)
{
    static const char *const ignored[] = {
        "abbr",   "b",      "bdi", "big",    "blockquote", "cite", "div", "em",      "font",
        "hiero",  "i",      "kbd", "nowiki", "plaintext",  "poem", "s",   "section", "span",
        "strike", "strong", "sub", "sup",    "tt",         "u",    "var", NULL,
    };
    const struct buf *text = &c->text;
    struct range close = { 0, 0 };
    int comments = 1; /* another comment may follow */
    c->spans.count = 0;
    for (const char *s = text->data; (s = strchr(s, '<'));) {
        size_t at = (size_t)(s - text->data), end = 0;
        if (comments && !strncmp(s, "<!--", 4)) {
            comments = span_find_text(text, at + 4, "-->", &close);
            end = comments ? close.end : 0;
        }
        if (!end)
            end = empty_tag(text, at);
        size_t other = tag_of(text, at, ignored, 0);
        if (!end || (other && other < end))
            end = other;
        if (end)
            spans_add(&c->spans, at, end);
        s = end ? text->data + end : s + 1;
    }
    classic_drop_spans(c);
}

static const char *const elements[] = {
    "gallery",  "timeline", "noinclude",   "pre",          "table", "tr",       "td",
    "th",       "caption",  "div",         "form",         "input", "select",   "option",
    "textarea", "ul",       "li",          "ol",           "dl",    "dt",       "dd",
    "menu",     "dir",      "ref",         "references",   "img",   "imagemap", "source",
    "small",    "inputbox", "includeonly", "categorytree",
};
enum { ELEMENTS = sizeof elements / sizeof *elements };

/* Returns the elements that have a tag in the text: bit i for elements[i]. */
static uint64_t elements_in(const struct buf *text)
{
    uint64_t in = 0;
    const char *s = text->data, *end = s + text->len;
    for (; (s = memchr(s, '<', (size_t)(end - s))); s++)
        for (size_t i = 0; i < ELEMENTS; i++) {
            size_t at = (size_t)(s - text->data);
            if (span_tag(text, at, elements[i], 0, 1) || span_tag(text, at, elements[i], 1, 1))
                in |= UINT64_C(1) << i;
        }
    return in;
}

static void drop_element(struct classic *c, const char *name)
{
    struct range at;
    size_t done = 0;
    if (span_find_open(&c->text, 0, name, &at)) {
        spans_nested(&c->spans, &c->text, span_find_open, name, span_find_close, name);
        classic_drop_spans(c);
    }
    for (; span_find_close(&c->text, done, name, &at); done = at.end)
        classic_keep(c, done, at.begin);
    if (done)
        classic_finish(c, done);
}

/* Finds the elements in the text, drops them one kind after another, and finds them again after
 * each, because the text around a dropped element may form a tag of another. */
void classic_drop_elements(struct classic *c)
{
    uint64_t in = elements_in(&c->text);
    for (size_t i = 0; i < ELEMENTS; i++)
        if (in >> i & 1) {
            drop_element(c, elements[i]);
            in = elements_in(&c->text);
        }
    classic_replace(c, "<noinclude>", "");
}

void classic_protect_code(struct classic *c)
{
    static const char open[] = "<syntaxhighlight ", close[] = "</syntaxhighlight>";
    size_t done = 0;
    for (struct range at, end; span_find_text(&c->text, done, open, &at);) {
        size_t gt = first_gt(&c->text, at.end);
        if (!gt || !span_find_text(&c->text, gt + 1, close, &end))
            break;
        classic_keep(c, done, at.begin);
        document_escape(&c->next, c->text.data + gt + 1, end.begin - (gt + 1), 1);
        done = end.end;
    }
    classic_finish(c, done);
}
