#include "wikiprep/output/page_rows.h"

#include "common/base/le.h"

enum { LENGTH_BYTES = 8 };

void page_rows_put(struct buf *out, const struct page_json_layout *layout,
                   const struct page_json_source *from)
{
    for (int i = 0; i < layout->count; i++) {
        size_t begin = out->len;
        buf_add(out, (const char[LENGTH_BYTES]){ 0 }, LENGTH_BYTES);
        page_json_text(out, layout, i, from);
        le_put_u64(out->data + begin, out->len - begin - LENGTH_BYTES);
    }
}

int page_rows_open(struct page_rows *r, const struct page_json_layout *layout, columns_put *put,
                   void *ctx)
{
    const char *names[PAGE_JSON_FIELDS_MAX];
    *r = (struct page_rows){ .count = layout->count };
    for (int i = 0; i < layout->count; i++)
        names[i] = page_json_name(layout, i);
    if (!(r->library = columns_plugin()))
        return -1;
    r->writer = r->library->create(names, (size_t)layout->count, put, ctx);
    return r->writer ? 0 : -1;
}

int page_rows_add(struct page_rows *r, const struct buf *row)
{
    struct columns_cell cells[PAGE_JSON_FIELDS_MAX];
    const char *at = row->data;
    for (int i = 0; i < r->count; i++) {
        cells[i].len = le_u64((const unsigned char *)at);
        cells[i].text = at + LENGTH_BYTES;
        at += LENGTH_BYTES + cells[i].len;
    }
    return r->library->add(r->writer, cells);
}

int page_rows_finish(struct page_rows *r)
{
    return r->library->finish(r->writer);
}

void page_rows_close(struct page_rows *r)
{
    if (r->library)
        r->library->free(r->writer);
    *r = (struct page_rows){ 0 };
}
