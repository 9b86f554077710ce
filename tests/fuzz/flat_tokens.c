/* Reads any bytes as a file of llm.c or of nanoGPT. Opening must fail, or every id must be
 * there. */
#include "tfrecord/formats/flat_tokens.h"
#include "tests/fuzz/file.h"

static void read_all(const char *path)
{
    struct flat_tokens f;
    uint32_t id;
    if (flat_tokens_open(&f, path) < 0)
        return;
    for (uint64_t i = 0; i < f.tokens; i++) {
        flat_tokens_read(&f, i, 1, &id);
        assert(f.width == 4 || id <= 0xffff);
    }
    flat_tokens_close(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = fuzz_file(data, size, path);
    flat_tokens_has_head(path);
    read_all(path);
    close(fd);
    return 0;
}
