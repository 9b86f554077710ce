/* tokenizer.json: what is read is written so that it reads back, and encodes and decodes a text. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "tokenizer/files.h"
#include "tokenizer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode(const struct tokenizer *t)
{
    static const char text[] = "ab abc  a1 it's\n\n<|endoftext|> \xC3\xA9 b";
    struct encoder *e = encoder_new(t);
    struct ids ids = { 0 };
    struct buf back = BUF_INIT;
    for (int special = 0; special < 2; special++) {
        ids.count = 0;
        if (encoder_encode(e, text, strlen(text), (enum tokenizer_special)special, &ids) == 0)
            assert(tokenizer_decode(t, ids.data, ids.count, &back) == 0);
    }
    encoder_free(e);
    ids_release(&ids);
    buf_release(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vocabulary v, again;
    vocabulary_init(&v);
    vocabulary_init(&again);
    if (tokenizer_json_parse(&v, (const char *)data, size, "x") == 0) {
        struct buf text = BUF_INIT;
        tokenizer_json_print(&v, &text);
        int same = tokenizer_json_parse(&again, text.data, text.len, "y") == 0;
        assert(same && again.count == v.count && again.merge_count == v.merge_count);
        buf_release(&text);
        struct tokenizer *t = tokenizer_from_vocabulary(&v);
        encode(t);
        tokenizer_free(t);
    }
    vocabulary_release(&v);
    vocabulary_release(&again);
    return 0;
}
