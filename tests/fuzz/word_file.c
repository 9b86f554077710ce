/* Reads any bytes as a file of counted words. They must give an error, or words that are written
 * again as the same bytes. */
#include <string.h>

#include "common/base/crc32c.h"
#include "tests/fuzz/file.h"
#include "tokenizer/learn/word_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char rules[] = "--model bpe --units bytes";

/* Returns a copy of data[0..size) whose last four bytes are the right checksum. Otherwise the
 * fuzzer would hardly get past the checksum. */
static uint8_t *mended(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    assert(copy);
    memcpy(copy, data, size);
    uint32_t crc = size >= 4 ? crc32c(0, data, size - 4) : 0;
    for (size_t i = 0; i < 4 && size >= 4; i++)
        copy[size - 4 + i] = (uint8_t)(crc >> 8 * i);
    return copy;
}

static void check_same(struct word_counts *w, const uint8_t *data, size_t size)
{
    struct output out;
    struct buf got = BUF_INIT;
    char path[64];
    uint64_t words;
    snprintf(path, sizeof path, "%s/out", fuzz_folder());
    assert(output_open(&out, path) == 0);
    out.lazy = 1;
    assert(word_file_write(&out, rules, &w, 1, &words) == 0 && output_close(&out) == 0);
    assert(file_read(path, &got) == 0);
    assert(got.len == size && !memcmp(got.data, data, size));
    buf_release(&got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    uint8_t *copy = mended(data, size);
    struct word_counts *w = word_counts_new(0, NULL);
    uint64_t words = 0;
    int fd = fuzz_file(copy, size, path);
    if (word_file_read(path, rules, w, &words) == 0)
        check_same(w, copy, size);
    close(fd);
    word_counts_free(w);
    free(copy);
    return 0;
}
