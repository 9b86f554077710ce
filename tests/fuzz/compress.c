/* Unpacks compressed streams. The first byte selects the format, the rest is the stream. Bytes that
 * unpack are packed again and must unpack to the same bytes. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/files/compress.h"

enum { MOST = 1 << 22 }; /* a small stream can claim a lot */

static int collect(void *ctx, const void *bytes, size_t n)
{
    struct buf *b = ctx;
    buf_add(b, bytes, n);
    return b->len > MOST ? -1 : 0;
}

static void there_and_back(enum compression how, const struct buf *plain)
{
    struct buf packed = BUF_INIT, again = BUF_INIT;
    struct compress *c = compress_new(how);
    compress_add(c, plain->data, plain->len, &packed);
    compress_end(c, &packed);
    compress_free(c);
    int result = compress_unpack(how, (unsigned char *)packed.data, packed.len, collect, &again);
    assert(plain->len > MOST || !result);
    assert(again.len <= plain->len && !memcmp(again.data, plain->data, again.len));
    buf_release(&packed);
    buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf got = BUF_INIT;
    if (!size)
        return 0;
    enum compression how = COMPRESS_GZIP + data[0] % 3;
    compress_recognise(data + 1, size - 1);
    compress_unpack(how, data + 1, size - 1, collect, &got);
    there_and_back(how, &got);
    buf_release(&got);
    return 0;
}
