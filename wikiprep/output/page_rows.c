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

void page_rows_read(const struct buf *row, struct columns_cell *cells, int count)
{
    const char *at = row->data;
    for (int i = 0; i < count; i++) {
        cells[i].len = le_u64((const unsigned char *)at);
        cells[i].text = at + LENGTH_BYTES;
        at += LENGTH_BYTES + cells[i].len;
    }
}
