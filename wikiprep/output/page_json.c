#include "wikiprep/output/page_json.h"

#include "common/base/le.h"
#include "common/base/lines.h"
#include "common/formats/js.h"

enum field { ID, REVID, URL, TITLE, TEXT, TIMESTAMP, NAMESPACE, CATEGORIES, REDIRECT, PARTS };

/* The names of the fields. Those from "sections" on are in the order of enum page_part. */
static const char *const names[PAGE_JSON_FIELDS_MAX] = {
    "id",         "revid",       "url",        "title",          "text",
    "timestamp",  "namespace",   "categories", "redirect",       "sections",
    "infoboxes",  "tables",      "links",      "external_links", "captions",
    "references", "description", "wikidata",   "coordinates"
};

int page_json_layout_parse(struct page_json_layout *layout, const char *list)
{
    layout->count = 0;
    layout->set = 0;
    for (const char *word = list; word;) {
        size_t n = strcspn(word, ",");
        unsigned f = 0;
        while (f < PAGE_JSON_FIELDS_MAX && (strlen(names[f]) != n || memcmp(names[f], word, n)))
            f++;
        if (f == PAGE_JSON_FIELDS_MAX)
            return err_usage("--fields: unknown field '%.*s'", (int)n, word);
        if (layout->set >> f & 1)
            return err_usage("--fields: '%s' is given twice", names[f]);
        layout->set |= 1u << f;
        layout->fields[layout->count++] = (unsigned char)f;
        word = word[n] ? word + n + 1 : NULL;
    }
    return 0;
}

const char *page_json_name(const struct page_json_layout *layout, int i)
{
    return names[layout->fields[i]];
}

int page_json_has_categories(const struct page_json_layout *layout)
{
    return layout->set >> CATEGORIES & 1;
}

static void put_list(struct buf *out, const char *lines)
{
    buf_addc(out, '[');
    struct lines l = LINES_OF(lines, strlen(lines));
    while (lines_next(&l)) {
        buf_adds(out, l.number > 1 ? ", " : "");
        js_quote(out, l.line, l.len);
    }
    buf_addc(out, ']');
}

unsigned page_json_parts(const struct page_json_layout *layout)
{
    return layout->set >> PARTS;
}

/* Returns the text of a field that is a string, or NULL. */
static const struct buf *text_of(enum field f, const struct page_json_source *from)
{
    switch (f) {
    case ID: return &from->document->id;
    case REVID: return &from->page->revid;
    case URL: return &from->document->url;
    case TITLE: return &from->document->title;
    case TEXT: return &from->document->text;
    case TIMESTAMP: return &from->page->timestamp;
    case REDIRECT: return &from->page->target;
    default: return NULL;
    }
}

/* Appends the value of a field that is no string, as JSON. */
static void put_value(struct buf *out, enum field f, const struct page_json_source *from)
{
    if (f == CATEGORIES) {
        put_list(out, from->categories);
    } else if (f == NAMESPACE) {
        buf_addf(out, "%d", from->page->ns);
    } else {
        int is_list = f < PARTS + PART_DESCRIPTION;
        const struct buf *json = &from->parts->json[f - PARTS];
        buf_adds(out, is_list ? "[" : "");
        buf_add(out, json->data, json->len);
        buf_adds(out, is_list ? "]" : "");
    }
}

/* Returns 1 if the page has the field, else 0. */
static int is_there(enum field f, const struct page_json_source *from)
{
    if (f == REDIRECT)
        return from->page->redirect;
    return f < PARTS + PART_DESCRIPTION || from->parts->json[f - PARTS].len;
}

void page_json_put(struct buf *out, const struct page_json_layout *layout,
                   const struct page_json_source *from)
{
    const char *before = "{";
    for (int i = 0; i < layout->count; i++) {
        enum field f = layout->fields[i];
        if (!is_there(f, from))
            continue;
        buf_addf(out, "%s\"%s\": ", before, names[f]);
        before = ", ";
        const struct buf *text = text_of(f, from);
        if (text)
            js_quote(out, text->data, text->len);
        else
            put_value(out, f, from);
    }
    buf_adds(out, *before == '{' ? "{}\n" : "}\n");
}

enum { LENGTH_BYTES = 8 };

void page_json_put_row(struct buf *out, const struct page_json_layout *layout,
                       const struct page_json_source *from)
{
    for (int i = 0; i < layout->count; i++) {
        const struct buf *text = text_of(layout->fields[i], from);
        size_t begin = out->len;
        buf_add(out, (const char[LENGTH_BYTES]){ 0 }, LENGTH_BYTES);
        if (text)
            buf_add(out, text->data, text->len);
        else
            put_value(out, layout->fields[i], from);
        le_put_u64(out->data + begin, out->len - begin - LENGTH_BYTES);
    }
}

void page_json_cells(const struct buf *row, struct columns_cell *cells, int count)
{
    const char *at = row->data;
    for (int i = 0; i < count; i++) {
        cells[i].len = le_u64((const unsigned char *)at);
        cells[i].text = at + LENGTH_BYTES;
        at += LENGTH_BYTES + cells[i].len;
    }
}
