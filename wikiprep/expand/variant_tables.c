#include "wikiprep/expand/variant_tables.h"

#include "common/files/nameset.h"

struct reading {
    struct library *library;
    struct replacements *words;
    struct nameset *done; /* titles of pages that were read */
    struct buf folder;    /* "Conversiontable/zh-tw/", which begins the titles of subpages */
};

/* Adds the word of a row "from => to // comment", or changes what it becomes. Drops quotes and list
 * markup ('*', '#'). Ignores a row with two arrows. */
static void read_row(struct replacements *words, const char *s, const char *end)
{
    SCOPED(buf) row = BUF_INIT;
    for (; s < end; s++)
        if (!strchr("'\"*#", *s))
            buf_addc(&row, *s);
    const char *arrow = strstr(row.data, "=>"), *stop = arrow ? strstr(arrow, "//") : NULL;
    if (!arrow || strstr(arrow + 2, "=>"))
        return;
    stop = stop ? stop : row.data + row.len;
    const struct word word = {
        span_trim_space(span_between(row.data, arrow)),
        span_trim_space(span_between(arrow + 2, stop)),
    };
    replacements_put(words, word);
}

/* Adds the table of page `title`, then those of the subpages that it links: the last one wins, as
 * in MediaWiki. Returns 1, or 0 if there is no such page. */
static int read_page(struct reading *r, const char *title, size_t n, int depth)
{
    enum { DEPTH_MAX = 8 };
    struct title t = TITLE_INIT;
    int known = title_read(&t, &library_facts(r->library)->site, title, n, LIBRARY_MESSAGES);
    const struct library_page *page = known ? library_find(r->library, &t) : NULL;
    size_t before = nameset_count(r->done);
    int is_table = page && t.ns == LIBRARY_MESSAGES && depth < DEPTH_MAX &&
                   nameset_add(r->done, page->title, strlen(page->title)) == before;
    buf_release(&t.text);
    if (!is_table)
        return page != NULL;
    const char *end = page->text + page->n, *close;
    for (const char *s = page->text; (s = bytes_find(s, end, "-{", 2)); s = close) {
        close = bytes_find(s, end, "}-", 2);
        close = close ? close : end;
        for (s += 2; s < close; s++) {
            const char *stop = span_until(s, close, ';');
            read_row(r->words, s, stop);
            s = stop;
        }
    }
    for (const char *s = page->text; (s = bytes_find(s, end, "[[", 2)); s += 2) {
        close = bytes_find(s, end, "]]", 2);
        const char *bar = span_until(s, close ? close : end, '|');
        if (bar < end && bytes_find(s, bar, r->folder.data, r->folder.len))
            read_page(r, s + 2, (size_t)(bar - s - 2), depth + 1);
    }
    return 1;
}

int variant_tables_read(struct library *library, struct variants *v)
{
    const struct span codes[] = { v->base, v->codes[v->chosen] };
    struct reading r = { library, v->words, nameset_new(0), BUF_INIT };
    int found = 0;
    for (int i = !v->base.n; i < 2; i++) {
        buf_setf(&r.folder, "Conversiontable/%.*s/", (int)codes[i].n, codes[i].s);
        found |= read_page(&r, r.folder.data, r.folder.len - 1, 0);
    }
    buf_release(&r.folder);
    nameset_free(r.done);
    return found;
}
