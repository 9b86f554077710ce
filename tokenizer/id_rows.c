#include "tokenizer/id_rows.h"

#include "common/base/utf8.h"
#include "common/formats/kv.h"

static int check_vocabulary(const struct id_rows *r, const struct tokenizer *t)
{
    char ours[17];
    const char *theirs = kv_get(&r->stream.header, "checksum");
    snprintf(ours, sizeof ours, "%016" PRIx64, tokenizer_checksum(t));
    if (theirs && strcmp(theirs, ours))
        return err_set("%s: made with another vocabulary: checksum %s, not %s", r->in.path, theirs,
                       ours);
    return 0;
}

int id_rows_open(struct id_rows *r, const char *path, int lines, const struct tokenizer *t)
{
    *r = (struct id_rows){ .lines = lines };
    if (input_open(&r->in, path) < 0)
        return -1;
    if (lines || (stream_open(&r->stream, &r->in) == 0 && check_vocabulary(r, t) == 0))
        return 0;
    id_rows_close(r);
    return -1;
}

void id_rows_close(struct id_rows *r)
{
    if (!r->lines)
        stream_reader_release(&r->stream);
    ids_release(&r->line);
    input_close(&r->in);
}

int id_rows_where(const struct id_rows *r)
{
    return err_in("%s: %s %" PRIu64, r->in.path, r->lines ? "line" : "document",
                  r->lines ? r->number : r->number - 1);
}

/* Reads one line of decimal ids into r->line. Returns 1, or -1 with an error. */
static int parse(struct id_rows *r, const char *line, size_t n)
{
    r->line.count = 0;
    for (size_t i = 0; i < n;) {
        uint64_t id = 0;
        size_t begin = i;
        for (; i < n && line[i] >= '0' && line[i] <= '9' && id <= UINT32_MAX; i++)
            id = 10 * id + (uint64_t)(line[i] - '0');
        if (i > begin)
            ids_add(&r->line, (uint32_t)id);
        if (id <= UINT32_MAX && i < n && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r'))
            i++;
        else if (id > UINT32_MAX || i < n)
            return err_set("%s: line %" PRIu64 " is not a list of ids", r->in.path, r->number);
    }
    return 1;
}

static int next_line(struct id_rows *r)
{
    char *line;
    size_t n;
    int got = input_line(&r->in, &line, &n);
    r->number += got > 0;
    const size_t mark = got > 0 && r->number == 1 ? utf8_mark(line, n) : 0;
    if (got > 0)
        got = parse(r, line + mark, n - mark);
    r->ids = r->line.data;
    r->count = r->line.count;
    return got;
}

int id_rows_next(struct id_rows *r)
{
    if (r->lines)
        return next_line(r);
    int got = stream_read(&r->stream);
    r->number = r->stream.documents;
    r->ids = r->stream.document.ids;
    r->count = r->stream.document.count;
    return got;
}
