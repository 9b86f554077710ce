#include "wikiprep/input/pages.h"

#include "common/files/file.h"
#include "common/files/nameset.h"
#include "wikiprep/site/entity.h"
#include "wikiprep/site/names.h"

enum { LINE_MAX_BYTES = 1 << 16 };

enum { IN_INDEX = 1, IN_DUMP = 2 };

/* The requested pages. Keys are ids, and titles with a colon before them. */
struct pages {
    struct nameset *keys; /* the values are unsigned char: where the page was found */
    struct buf key;
};

/* ---- asking ------------------------------------------------------------------------------- */

static int add_page(void *ctx, const char *name, size_t n)
{
    struct pages *p = ctx;
    const char *end = name + n;
    buf_clear(&p->key);
    if (n && span_past(name, end, "0123456789") == end) {
        buf_add(&p->key, name, n);
    } else {
        buf_addc(&p->key, ':');
        names_add_title(&p->key, name + (*name == ':'), n - (*name == ':'), 0);
    }
    nameset_add(p->keys, p->key.data, p->key.len);
    return 0;
}

struct pages *pages_new(const struct opt_list *values)
{
    struct pages *p = mem_zalloc(1, sizeof *p);
    p->keys = nameset_new(1);
    buf_init(&p->key);
    for (size_t i = 0; i < values->count; i++)
        if (nameset_each(values->items[i], add_page, p) < 0) {
            pages_free(p);
            return NULL;
        }
    return p;
}

void pages_free(struct pages *p)
{
    if (!p)
        return;
    nameset_free(p->keys);
    buf_release(&p->key);
    free(p);
}

/* Stores `place`, where the page was found, for its id and its title, if they are in p->keys.
 * Returns 1 if one of them is, else 0. */
static int mark(struct pages *p, unsigned char place, const char *id, size_t id_len,
                const char *title)
{
    buf_setf(&p->key, ":%s", title);
    unsigned char *by_title = nameset_get(p->keys, p->key.data, p->key.len);
    unsigned char *by_id = nameset_get(p->keys, id, id_len);
    if (by_title)
        *by_title |= place;
    if (by_id)
        *by_id |= place;
    return by_title || by_id;
}

int pages_take(struct pages *p, const char *id, const char *title)
{
    return mark(p, IN_DUMP, id, strlen(id), title);
}

static int check_found(const struct pages *p, unsigned char place, const char *where)
{
    size_t count = nameset_count(p->keys), missing = 0;
    const char *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (*(const unsigned char *)nameset_value(p->keys, i) & place)
            continue;
        missing++;
        first = first ? first : nameset_at(p->keys, i);
    }
    if (!missing)
        return 0;
    SCOPED(buf) more = BUF_INIT;
    if (missing > 1)
        buf_addf(&more, ", nor %zu other%s", missing - 1, missing > 2 ? "s" : "");
    return err_set("there is no page %s'%.200s'%s in '%s'", *first == ':' ? "" : "with the id ",
                   first + (*first == ':'), more.data, where);
}

int pages_check_found(const struct pages *p, const char *where)
{
    return check_found(p, IN_DUMP, where);
}

/* ---- the index ---------------------------------------------------------------------------- */

struct index {
    const char *path;
    struct pages *pages;
    struct buf line, title;
    uint64_t lines, bytes; /* before the current line */
    uint64_t offset;       /* of the current line; never decreases */
    struct unpack_range *ranges;
    size_t count, cap;
    int open; /* the end of the last range is not known yet */
};

static void add_range(struct index *x, uint64_t begin)
{
    if (x->count && x->ranges[x->count - 1].begin == begin)
        return; /* another page of the same stream */
    mem_next(x->ranges, x->count, x->cap) = (struct unpack_range){ .begin = begin };
    x->open = 1;
}

static int bad_line(const struct index *x, const char *why)
{
    return err_set("'%s' line %" PRIu64 " (byte %" PRIu64 "): %s", x->path, x->lines + 1, x->bytes,
                   why);
}

static int take_line(struct index *x)
{
    const char *s = x->line.data;
    char *id, *title;
    buf_rtrim(&x->line);
    uint64_t offset = strtoull(s, &id, 10);
    size_t digits = *id == ':' ? strspn(id + 1, "0123456789") : 0;
    title = id + 1 + digits;
    if (*s < '0' || *s > '9' || !digits || *title != ':')
        return bad_line(x, "not a line of an index: it is not BYTE:ID:TITLE");
    if (offset < x->offset || !offset)
        return bad_line(x,
                        "not a line of an index: its byte offset is smaller than the one before");
    if (!x->offset) /* the first line: the dump's head is before its page */
        add_range(x, 0);
    if (x->open && offset > x->ranges[x->count - 1].begin) {
        x->ranges[x->count - 1].end = offset;
        x->open = 0;
    }
    x->offset = offset;
    buf_clear(&x->title);
    entity_decode(&x->title, title + 1, strlen(title + 1));
    if (mark(x->pages, IN_INDEX, id + 1, digits, x->title.data))
        add_range(x, offset);
    return 0;
}

static int64_t pull(void *unpack, void *bytes, size_t n)
{
    return unpack_read(unpack, bytes, n);
}

static int read_index(struct index *x, struct unpack *unpack)
{
    SCOPED_BY(input_close) struct input in = { 0 };
    char *line;
    size_t n;
    int got;
    input_open_pulled(&in, x->path, pull, unpack);
    in.most = LINE_MAX_BYTES;
    while ((got = input_line(&in, &line, &n)) > 0 && n <= LINE_MAX_BYTES) {
        buf_set(&x->line, line, n);
        if (n && take_line(x) < 0)
            return -1;
        x->lines++;
        x->bytes = in.offset;
    }
    if (got > 0 || in.end - in.begin > LINE_MAX_BYTES)
        return bad_line(x, "not a line of an index: it is too long");
    return got || x->lines ? got : err_set("'%s' is empty", x->path);
}

int pages_locate(struct pages *p, const char *index, const char *path, struct unpack_range **ranges,
                 size_t *count)
{
    uint64_t bytes;
    struct unpack *in = file_size(path, &bytes) < 0 ? NULL : unpack_open(index, 1);
    if (!in)
        return -1;
    struct index x = { .path = index, .pages = p, .line = BUF_INIT, .title = BUF_INIT };
    int result = read_index(&x, in);
    if (!result)
        result = check_found(p, IN_INDEX, index);
    if (!result && x.open) /* the last stream and the end of the dump, which follows it */
        x.ranges[x.count - 1].end = bytes;
    for (size_t i = 0; i < x.count && !result; i++)
        if (x.ranges[i].begin >= bytes || x.ranges[i].end > bytes)
            result = err_set("'%s' is not the index of '%s', or the dump is cut short: "
                             "it has %" PRIu64 " bytes, but the index names pages in bytes %" PRIu64
                             " to %" PRIu64,
                             index, path, bytes, x.ranges[i].begin, x.ranges[i].end);
    unpack_close(in);
    buf_release(&x.line);
    buf_release(&x.title);
    *ranges = x.ranges;
    *count = x.count;
    if (result)
        free(x.ranges);
    return result;
}
