/* Reads any bytes as rows of counted words. They must give an error, or rows that give the same
 * counts after they were counted, written and read again. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "tokenizer/learn/word_counts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct tables {
    struct word_counts *w[2]; /* without a limit, and with one */
};

struct bytes {
    const uint8_t *at;
    size_t n;
};

static int64_t pull(void *from, void *bytes, size_t n)
{
    struct bytes *b = from;
    n = n < b->n ? n : b->n;
    if (n)
        memcpy(bytes, b->at, n);
    b->at += n;
    b->n -= n;
    return (int64_t)n;
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
    struct bytes all = { data, size };
    struct input in;
    struct word_row row;
    input_open_pulled(&in, "run", pull, &all);
    for (; word_row_read(&in, &row) > 0; input_skip(&in, row.bytes))
        for (int i = 0; i < 2; i++)
            assert(word_counts_add(t.w[i], row.word, row.len, (row.count & 0x7FFFFFFF) + 1) == 0);
    input_close(&in);
    for (int i = 0; i < 2; i++) {
        assert(word_counts_join(&lists[i], &t.w[i], 1, 0) == 0);
        word_counts_free(t.w[i]);
    }
    assert(lists[0].count == lists[1].count && sum(&lists[0]) == sum(&lists[1]));
    counted_words_release(&lists[0]);
    counted_words_release(&lists[1]);
    return 0;
}
