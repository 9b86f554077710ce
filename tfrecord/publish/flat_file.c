#include "tfrecord/publish/flat_file.h"

#include <errno.h>
#include <unistd.h>

#include "common/base/again.h"
#include "common/base/ids.h"
#include "common/base/log.h"

static int put_document(struct flat_file *f, const struct intake *s, int width, struct output *out,
                        struct buf *bytes)
{
    const uint32_t end = (uint32_t)s->end_of_text;
    const size_t size = (size_t)width, n = s->count, first = (size_t)f->llmc;
    buf_reserve(bytes, (n + 1) * size);
    ids_put(bytes->data + first * size, width, s->ids, n);
    ids_put(bytes->data + (first ? 0 : n) * size, width, &end, 1);
    f->tokens += n + 1;
    if (first && f->tokens > INT32_MAX)
        return err_set("%s: more ids than a file of llm.c can hold (%d)", f->path, INT32_MAX);
    return output_write(out, bytes->data, (n + 1) * size);
}

/* Writes the header at the end, since it contains the number of ids. */
static int put_head(const struct flat_file *f, int width, struct output *out)
{
    unsigned char head[FLAT_HEAD_BYTES];
    flat_tokens_head(head, width, f->tokens);
    if (output_flush(out) < 0)
        return -1;
    ssize_t n = AGAIN(pwrite(out->fd, head, sizeof head, 0));
    return n == (ssize_t)sizeof head
               ? 0
               : err_set("cannot write '%s': %s", f->path, strerror(n < 0 ? errno : ENOSPC));
}

static int write_all(struct flat_file *f, struct intake *s, int width, struct output *out)
{
    static const char nothing[FLAT_HEAD_BYTES];
    SCOPED(buf) bytes = BUF_INIT;
    int got = 1, result = f->llmc ? output_write(out, nothing, sizeof nothing) : 0;
    while (!result && (got = intake_next(s)) > 0) {
        result = put_document(f, s, width, out, &bytes);
        progress_to(s->documents);
    }
    if (got < 0)
        result = -1;
    if (!result && !s->documents)
        result = err_set("%s: no documents", s->in.path);
    if (!result && f->llmc)
        result = put_head(f, width, out);
    return result;
}

int flat_file_write(struct flat_file *f, struct intake *s)
{
    const int width = s->stream.vocabulary <= 1 << 16 ? 2 : 4;
    struct output out;
    const int kind = intake_want_end_of_text(s, "this layout") < 0 ? -1 : file_look(f->path);
    if (kind < 0)
        return -1;
    if (kind == FILE_FOLDER || kind == FILE_SPECIAL)
        return err_set("cannot write '%s': not a regular file", f->path);
    if (f->llmc && !strcmp(f->path, "-"))
        return err_usage(
            "--output -: the header of llm.c has the number of ids, so it needs a file");
    if (!f->llmc && width == 4)
        return err_set("a vocabulary of %" PRIu64
                       " ids does not fit the 16 bits of nanoGPT's files",
                       (uint64_t)s->stream.vocabulary);
    if (output_open(&out, f->path) < 0)
        return -1;
    return output_end(&out, write_all(f, s, width, &out));
}
