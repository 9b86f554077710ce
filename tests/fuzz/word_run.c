/* Reads any bytes as a run of counted words. They must give an error, or rows that give the same
 * counts after they were counted, written and read again. */
#define _GNU_SOURCE /* memfd_create */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tokenizer/learn/word_counts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct tables {
    struct word_counts *w[2]; /* without a limit, and with one */
};

static int put(void *ctx, const char *word, size_t n, uint64_t count)
{
    struct tables *t = ctx;
    for (int i = 0; i < 2; i++)
        assert(word_counts_add(t->w[i], word, n, (count & 0x7FFFFFFF) + 1) == 0);
    return 0;
}

static uint64_t sum(const struct counted_words *l)
{
    uint64_t all = 0;
    for (size_t i = 0; i < l->count; i++)
        for (uint32_t k = 0; k <= l->words[i].len; k++)
            all += l->words[i].count *
                   (k + (k ? (unsigned char)l->bytes.data[l->words[i].at + k - 1] : 7u));
    return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tables t = { { word_counts_new(0, NULL), word_counts_new(1 << 13, "/tmp") } };
    struct counted_words lists[2] = { COUNTED_WORDS_INIT, COUNTED_WORDS_INIT };
    int fd = memfd_create("run", 0);
    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    word_run_read(fd, "run", put, &t);
    for (int i = 0; i < 2; i++) {
        assert(word_counts_join(&lists[i], &t.w[i], 1, 0) == 0);
        word_counts_free(t.w[i]);
    }
    assert(lists[0].count == lists[1].count && sum(&lists[0]) == sum(&lists[1]));
    counted_words_release(&lists[0]);
    counted_words_release(&lists[1]);
    close(fd);
    return 0;
}
