#include "wikiprep/output/page_rows.h"

#include "common/base/err.h"
#include "common/base/le.h"

enum { LENGTH_BYTES = 8 };

int page_rows_check(const struct page_json_layout *layout)
{
    for (int i = 0; i < layout->count; i++)
        if (!page_json_is_text(layout, i))
            return err_usage("--fields: a Parquet file has no column '%s': its columns are strings "
                             "that each page has",
                             page_json_name(layout, i));
    return 0;
}

void page_rows_put(struct buf *out, const struct page_json_layout *layout, const struct document *d,
                   const struct dump_page *page)
{
    for (int i = 0; i < layout->count; i++) {
        const struct buf *text = page_json_text(layout, i, d, page);
        char length[LENGTH_BYTES];
        le_put_u64(length, text->len);
        buf_add(out, length, sizeof length);
        buf_add(out, text->data, text->len);
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
