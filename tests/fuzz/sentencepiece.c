/* Parses a .model file of SentencePiece. If it is valid, the tokenizer must encode, and must be the
 * same after it was written as JSON and read again. */
#include <assert.h>
#include <stdint.h>

#include "tokenizer/files/files.h"
#include "tokenizer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct vocabulary *v)
{
    static const char text[] = "  a b\xE2\x96\x81 ab  \xC3\xA9\xEF\xBC\xA1x ";
    struct tokenizer *t = tokenizer_from_vocabulary(v);
    struct buf json = BUF_INIT;
    struct ids ids = { 0 };
    if (!t)
        return;
    struct encoder *e = encoder_new(t);
    encoder_encode(e, text, sizeof text - 1, TOKENIZER_SPECIAL, &ids);
    for (size_t i = 0; i < ids.count; i++)
        assert(ids.data[i] < tokenizer_size(t));
    tokenizer_print(t, &json);
    struct vocabulary again;
    vocabulary_init(&again);
    assert(tokenizer_json_parse(&again, json.data, json.len, "x") == 0);
    vocabulary_release(&again);
    encoder_free(e);
    tokenizer_free(t);
    ids_release(&ids);
    buf_release(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vocabulary v;
    vocabulary_init(&v);
    if (sentencepiece_parse(&v, (const char *)data, size, "x") == 0)
        check(&v);
    vocabulary_release(&v);
    return 0;
}
