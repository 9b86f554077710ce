/* Reads any bytes as a bzip2 file; the result must equal that of libbz2, stream after stream. */
#include <bzlib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "wikiprep/input/bunzip.h"

enum { TEXT_MAX = 1 << 24 };

struct source {
    const uint8_t *data;
    size_t size;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t pull(void *ctx, void *bytes, size_t n)
{
    struct source *s = ctx;
    n = n < s->size ? n : s->size;
    n = n < 1000 ? n : 1000;
    memcpy(bytes, s->data, n);
    s->data += n;
    s->size -= n;
    return (int64_t)n;
}

/* Unpacks with libbz2. Returns 1 if all bytes are complete streams. */
static int expect(struct buf *out, const uint8_t *data, size_t size)
{
    while (size) {
        bz_stream z = { .next_in = (char *)(uintptr_t)data, .avail_in = (unsigned)size };
        if (BZ2_bzDecompressInit(&z, 0, 0) != BZ_OK)
            abort();
        int result = BZ_OK;
        while (result == BZ_OK && out->len < TEXT_MAX) {
            buf_reserve(out, 1 << 16);
            z.next_out = out->data + out->len;
            z.avail_out = 1 << 16;
            unsigned in = z.avail_in;
            result = BZ2_bzDecompress(&z);
            size_t got = (1 << 16) - z.avail_out;
            out->len += got;
            if (!got && in == z.avail_in)
                break;
        }
        BZ2_bzDecompressEnd(&z);
        if (result != BZ_STREAM_END)
            return 0;
        data += size - z.avail_in;
        size = z.avail_in;
    }
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source source = { data, size };
    struct buf want = BUF_INIT, got = BUF_INIT;
    int whole = expect(&want, data, size);
    struct bunzip *b = bunzip_new(&(struct bunzip_source){ "fuzz", pull, NULL, &source }, 1);
    int64_t n = 1;
    while (n > 0 && got.len < TEXT_MAX) {
        buf_reserve(&got, 1 << 16);
        n = bunzip_read(b, got.data + got.len, 1 << 16);
        got.len += n > 0 ? (size_t)n : 0;
    }
    if (n < 0 && !*err_get())
        abort(); /* an error without words */
    if (whole && n < 0 && !strstr(err_get(), "randomised"))
        abort(); /* libbz2 can read it */
    if (whole && n == 0 && (want.len != got.len || memcmp(want.data, got.data, got.len)))
        abort();
    size_t both = want.len < got.len ? want.len : got.len;
    if (memcmp(want.data, got.data, both))
        abort(); /* what comes before an error is the same, too */
    while (n < 0 && got.len < TEXT_MAX && bunzip_resume(b)) /* what is behind damage */
        do {
            buf_reserve(&got, 1 << 16);
            n = bunzip_read(b, got.data + got.len, 1 << 16);
            got.len += n > 0 ? (size_t)n : 0;
        } while (n > 0 && got.len < TEXT_MAX);
    bunzip_free(b);
    buf_release(&want);
    buf_release(&got);
    return 0;
}
