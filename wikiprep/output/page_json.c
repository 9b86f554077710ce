#include "wikiprep/output/page_json.h"

#include <string.h>

#include "common/base/err.h"
#include "common/formats/js.h"

enum field { ID, REVID, URL, TITLE, TEXT, TIMESTAMP, NAMESPACE, CATEGORIES, REDIRECT };

static const char *const names[PAGE_JSON_FIELDS_MAX] = {
    "id", "revid", "url", "title", "text", "timestamp", "namespace", "categories", "redirect",
};

int page_json_layout_parse(struct page_json_layout *layout, const char *list)
{
    layout->count = 0;
    unsigned seen = 0;
    for (const char *word = list; word;) {
        size_t n = strcspn(word, ",");
        unsigned f = 0;
        while (f < PAGE_JSON_FIELDS_MAX && (strlen(names[f]) != n || memcmp(names[f], word, n)))
            f++;
        if (f == PAGE_JSON_FIELDS_MAX)
            return err_usage("--fields: unknown field '%.*s'", (int)n, word);
        if (seen >> f & 1)
            return err_usage("--fields: '%s' is given twice", names[f]);
        seen |= 1u << f;
        layout->fields[layout->count++] = (unsigned char)f;
        word = word[n] ? word + n + 1 : NULL;
    }
    return 0;
}

const char *page_json_name(const struct page_json_layout *layout, int i)
{
    return names[layout->fields[i]];
}

int page_json_is_text(const struct page_json_layout *layout, int i)
{
    enum field f = layout->fields[i];
    return f != NAMESPACE && f != CATEGORIES && f != REDIRECT;
}

const struct buf *page_json_text(const struct page_json_layout *layout, int i,
                                 const struct document *d, const struct dump_page *page)
{
    const struct buf *const texts[PAGE_JSON_FIELDS_MAX] = {
        [ID] = &d->id,
        [REVID] = &page->revid,
        [URL] = &d->url,
        [TITLE] = &d->title,
        [TEXT] = &d->text,
        [TIMESTAMP] = &page->timestamp,
        [REDIRECT] = &page->target,
    };
    return texts[layout->fields[i]];
}

int page_json_has_categories(const struct page_json_layout *layout)
{
    return memchr(layout->fields, CATEGORIES, (size_t)layout->count) != NULL;
}

static void put_list(struct buf *out, const char *lines)
{
    buf_addc(out, '[');
    for (const char *s = lines; *s;) {
        size_t n = strcspn(s, "\n");
        if (s > lines)
            buf_adds(out, ", ");
        js_quote(out, s, n);
        s += n + 1;
    }
    buf_addc(out, ']');
}

void page_json_put(struct buf *out, const struct page_json_layout *layout, const struct document *d,
                   const struct dump_page *page, const char *categories)
{
    const char *before = "{";
    for (int i = 0; i < layout->count; i++) {
        enum field f = layout->fields[i];
        if (f == REDIRECT && !page->redirect)
            continue;
        buf_addf(out, "%s\"%s\": ", before, names[f]);
        before = ", ";
        if (f == CATEGORIES)
            put_list(out, categories);
        else if (f == NAMESPACE)
            buf_addf(out, "%d", page->ns);
        else {
            const struct buf *text = page_json_text(layout, i, d, page);
            js_quote(out, text->data, text->len);
        }
    }
    buf_adds(out, *before == '{' ? "{}\n" : "}\n");
}
