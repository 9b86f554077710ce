#include "wikiprep/input/part.h"

enum {
    CHUNK = UNPACK_PIECE,
    HEAD_MAX = 1 << 22,
    TAG = 6 /* bytes of "<page" and the byte after it */
};

struct part {
    struct unpack *in; /* the file, borrowed; part_open moves it to the start of the range */
    enum { HEAD, SKIPPING, READING, DONE } state;
    int is_cut;
    struct buf text; /* in state HEAD the dump's head; unread bytes are [used, len) */
    size_t used;
    uint64_t at; /* offset of text.data[used] in the head or in the decompressed data of `in` */
};

size_t part_find_page(const char *s, size_t n)
{
    static const char tag[] = "<page";
    const char *end = s + n;
    for (const char *p = s; (p = memmem(p, (size_t)(end - p), tag, sizeof tag - 1)); p++)
        if (end - p >= (ptrdiff_t)sizeof tag && memchr("> \t\r\n", p[sizeof tag - 1], 5))
            return (size_t)(p - s);
    return n;
}

/* Reads more text after the unread bytes. Returns its size in bytes, 0 at the end, or -1 with an
 * error. */
static int64_t more(struct part *p)
{
    buf_cut(&p->text, 0, p->used);
    p->used = 0;
    buf_reserve(&p->text, CHUNK);
    int64_t got = unpack_read(p->in, p->text.data + p->text.len, CHUNK);
    p->text.len += got > 0 ? (size_t)got : 0;
    p->text.data[p->text.len] = '\0';
    return got;
}

/* ---- the head ----------------------------------------------------------------------------- */

/* Returns the offset in s[0..n) at which the dump's head ends: after </siteinfo>, or at the first
 * page; 0 if it does not end in s. */
static size_t head_end(const char *s, size_t n)
{
    static const char close[] = "</siteinfo>";
    size_t page = part_find_page(s, n);
    const char *found = memmem(s, page, close, sizeof close - 1);
    if (found)
        return (size_t)(found - s) + sizeof close - 1;
    return page < n ? page : 0;
}

static int read_head(struct part *p)
{
    int64_t got = 1;
    size_t end = 0;
    while (got > 0 && !end && p->text.len < HEAD_MAX) {
        got = more(p);
        end = head_end(p->text.data, p->text.len);
    }
    buf_truncate(&p->text, end ? end : p->text.len);
    return got < 0 ? -1 : 0;
}

/* ---- life --------------------------------------------------------------------------------- */

struct part *part_open(struct unpack *in, uint64_t begin, uint64_t end, int threads)
{
    struct part *p = mem_zalloc(1, sizeof *p);
    p->in = in;
    buf_init(&p->text);
    p->state = begin ? HEAD : READING;
    /* recognising the format and reading the head decode the first block only once */
    if ((!begin || !read_head(p)) && !unpack_start_part(in, begin, end, threads))
        return p;
    part_close(p);
    return NULL;
}

void part_close(struct part *p)
{
    if (!p)
        return;
    buf_release(&p->text);
    free(p);
}

int part_is_cut(const struct part *p)
{
    return p->is_cut;
}

/* ---- reading ------------------------------------------------------------------------------ */

static size_t waiting(const struct part *p)
{
    return p->text.len - p->used;
}

static void skip(struct part *p, size_t n)
{
    p->used += n;
    p->at += n;
}

static void end(struct part *p)
{
    p->state = DONE;
    p->is_cut = 1;
}

/* Moves to the first page of the part, if there is one. Returns 0, or -1 with an error. */
static int skip_to_page(struct part *p)
{
    int64_t got = 1;
    while (got > 0) {
        size_t n = waiting(p), found = n ? part_find_page(p->text.data + p->used, n) : 0;
        skip(p, found < n ? found : n > TAG ? n - TAG : 0);
        if (p->at >= unpack_part_end(p->in))
            break;
        if (found < n) {
            p->state = READING;
            return 0;
        }
        got = more(p);
    }
    if (got < 0)
        return -1;
    end(p);
    return 0;
}

/* Returns how many of the unread bytes belong to the part. `ended` 1: no more bytes follow them in
 * the file. After the part's range, only the rest of its last page belongs to it. A tag that may be
 * incomplete is not counted. */
static size_t own(struct part *p, int ended)
{
    uint64_t stop = unpack_part_end(p->in);
    size_t n = waiting(p);
    if (p->state == HEAD)
        return n;
    if (p->at < stop)
        return stop - p->at < n ? (size_t)(stop - p->at) : n;
    size_t found = n ? part_find_page(p->text.data + p->used, n) : 0;
    if (found < n) {
        if (!found)
            end(p);
        return found;
    }
    return ended ? n : n > TAG ? n - TAG : 0;
}

static int64_t read_own(struct part *p, void *bytes, size_t n)
{
    int ended = 0;
    for (;;) {
        size_t there = own(p, ended);
        if (p->state == DONE)
            return 0;
        if (there) {
            n = n < there ? n : there;
            memcpy(bytes, p->text.data + p->used, n);
            skip(p, n);
            return (int64_t)n;
        }
        int64_t got = ended ? 0 : more(p);
        if (got < 0)
            return -1;
        if (!got && ended)
            return 0;
        ended = !got;
    }
}

int64_t part_read(struct part *p, void *bytes, size_t n)
{
    if (p->state == HEAD && !waiting(p)) {
        p->state = SKIPPING;
        p->at = 0;
    }
    if (p->state == SKIPPING && skip_to_page(p) < 0)
        return -1;
    return p->state == DONE ? 0 : read_own(p, bytes, n);
}
