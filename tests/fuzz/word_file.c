/* Reads any bytes as a file of counted words. They must give an error, or words that are written
 * again as the same bytes. */
#define _GNU_SOURCE /* memfd_create */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "tokenizer/learn/word_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char rules[] = "--model bpe --units bytes";

static int make(const uint8_t *data, size_t size, char path[64])
{
    int fd = memfd_create("words", 0);
    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

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

static const char *output_name(void)
{
    static char path[] = "/tmp/word_file-XXXXXX/out";
    if (strstr(path, "XXXXXX")) {
        path[sizeof path - sizeof "/out"] = '\0';
        assert(mkdtemp(path));
        path[sizeof path - sizeof "/out"] = '/';
    }
    return path;
}

static void check_same(struct word_counts *w, const uint8_t *data, size_t size)
{
    struct output out;
    struct buf got = BUF_INIT;
    uint64_t words;
    assert(output_open(&out, output_name()) == 0);
    out.lazy = 1;
    assert(word_file_write(&out, rules, &w, 1, &words) == 0 && output_close(&out) == 0);
    assert(file_read(output_name(), &got) == 0);
    assert(got.len == size && !memcmp(got.data, data, size));
    buf_release(&got);
    temp_remove(output_name());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    uint8_t *copy = mended(data, size);
    struct word_counts *w = word_counts_new(0, NULL);
    uint64_t words = 0;
    int fd = make(copy, size, path);
    if (word_file_read(path, rules, w, &words) == 0)
        check_same(w, copy, size);
    close(fd);
    word_counts_free(w);
    free(copy);
    return 0;
}
