/* Reads any bytes as a token stream. They must give an error, or documents whose ids and sentence
 * ends are within their bounds. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/formats/stream.h"

static int read_all(struct stream_reader *s)
{
    int result;
    while ((result = stream_read(s)) > 0) {
        const struct stream_document *d = &s->document;
        for (size_t i = 0; i < d->count; i++)
            assert(d->ids[i] < s->vocabulary);
        for (size_t i = 0; i < d->sentences; i++)
            assert(d->sentence_ends[i] <= d->count &&
                   (!i || d->sentence_ends[i - 1] <= d->sentence_ends[i]));
    }
    return result;
}

/* The input gets all bytes at once, so no file is needed. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = { .path = mem_strdup("fuzz"), .eof = 1 };
    struct stream_reader s;
    in.data = malloc(size + 1);
    memcpy(in.data, data, size);
    in.end = size;
    in.cap = size + 1;
    if (stream_open(&s, &in) == 0) {
        int result = read_all(&s);
        assert(result == 0 || result == -1);
    }
    stream_reader_release(&s);
    input_close(&in);
    return 0;
}
