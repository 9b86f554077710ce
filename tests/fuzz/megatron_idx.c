/* Reads any bytes as a Megatron index, beside a .bin that is about as long as the index says.
 * Opening must fail, or every token must be readable. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/files/file.h"
#include "tfrecord/formats/megatron.h"
#include "tfrecord/read/dataset.h"

static struct buf prefix = BUF_INIT;

static void put(const char *ending, const uint8_t *bytes, size_t n)
{
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s%s", prefix.data, ending);
    FILE *f = fopen(path.data, "wb");
    if (f) {
        fwrite(bytes, 1, n, f);
        fclose(f);
    }
    buf_release(&path);
}

static void drop(const char *ending)
{
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s%s", prefix.data, ending);
    unlink(path.data);
    buf_release(&path);
}

static void read_all(void)
{
    struct megatron m;
    uint32_t ids[64];
    int32_t labels[64];
    uint64_t total = 0, first;
    if (megatron_open(&m, prefix.data) < 0)
        return;
    for (uint64_t i = 0; i < m.sequences; i++) {
        uint32_t n = megatron_sequence(&m, i, &first);
        assert(first == total && first + n <= m.tokens);
        megatron_read(&m, first, n < 64 ? n : 64, ids);
        total += n;
    }
    assert(total == m.tokens);
    uint64_t tokens = m.tokens;
    megatron_close(&m);
    const char *path = prefix.data;
    struct dataset *d = dataset_open(&path, 1, 5);
    assert(d && dataset_count(d) == (tokens ? (tokens - 1) / 4 : 0));
    for (uint64_t i = 0; i < dataset_count(d); i++)
        if (dataset_read(d, i, ids, labels) == 0)
            for (int k = 0; k < 4; k++)
                assert((uint32_t)labels[k] == ids[k + 1]);
    dataset_close(d);
}

/* The first byte is the length of .bin; the rest is .idx. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t tokens[256] = { 1, 0, 2, 0, 3, 0, 4, 0, 255, 255, 255, 255 };
    if (!size)
        return 0;
    if (!prefix.len)
        buf_addf(&prefix, "/tmp/textmill-fuzz-megatron-%ld", (long)getpid());
    put(".idx", data + 1, size - 1);
    put(".bin", tokens, data[0]);
    read_all();
    drop(".idx");
    drop(".bin");
    buf_release(&prefix);
    return 0;
}
