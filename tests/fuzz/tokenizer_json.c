/* Input: a tokenizer.json, a NUL, and a text. A valid tokenizer is written and read again; it must
 * normalize, cut, encode and decode the text in the same way as before. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "tokenizer/files/files.h"
#include "tokenizer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode(const struct tokenizer *t, const char *text, size_t n)
{
    struct encoder *e = encoder_new(t);
    struct ids ids = { 0 }, again = { 0 };
    struct buf back = BUF_INIT;
    for (int special = 0; special < 2; special++) {
        ids.count = again.count = 0;
        int failed = encoder_encode(e, text, n, (enum tokenizer_special)special, &ids);
        assert(failed == encoder_encode(e, text, n, (enum tokenizer_special)special, &again));
        if (failed)
            continue;
        assert(ids.count == again.count);
        assert(!ids.count || !memcmp(ids.data, again.data, ids.count * sizeof *ids.data));
        tokenizer_decode(t, ids.data, ids.count, 0, &back); /* -1: a pattern takes too much */
        buf_clear(&back);
        tokenizer_decode(t, ids.data, ids.count, 1, &back);
    }
    encoder_free(e);
    ids_release(&ids);
    ids_release(&again);
    buf_release(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char plain[] = "ab abc  a1 it's\n\n<|endoftext|> \xC3\xA9 b";
    const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
    size_t n = nul ? (size_t)(nul - data) : size;
    struct vocabulary v, again;
    vocabulary_init(&v);
    vocabulary_init(&again);
    if (tokenizer_json_parse(&v, (const char *)data, n, "x") == 0) {
        struct buf text = BUF_INIT;
        tokenizer_json_print(&v, &text);
        int same = tokenizer_json_parse(&again, text.data, text.len, "y") == 0;
        assert(same && again.count == v.count && again.merge_count == v.merge_count);
        buf_release(&text);
        struct tokenizer *t = tokenizer_from_vocabulary(&v);
        if (t) /* or a pattern takes too much */
            encode(t, nul ? (const char *)nul + 1 : plain, nul ? size - n - 1 : strlen(plain));
        tokenizer_free(t);
    }
    vocabulary_release(&v);
    vocabulary_release(&again);
    return 0;
}
