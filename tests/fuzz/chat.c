/* Writes conversations in each form, for each use. Spans cover the ids; where a model learns, some
 * are labels. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "tokenizer/chat.h"
#include "tokenizer/model/vocabulary.h"

enum { FIRST = 2, FORMS = 7 }; /* of CHAT_FORMS */

static struct tokenizer *make(void)
{
    static const char *const marks[] = {
        "<|im_start|>",        "<|im_end|>",        "<|im_sep|>",          "<|begin_of_text|>",
        "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>",          "<|bos|>",
        "<|user_start|>",      "<|user_end|>",      "<|assistant_start|>", "<|assistant_end|>",
    };
    struct vocabulary v;
    tokenizer_into_vocabulary(tokenizer_load(NULL), &v);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        assert(vocabulary_put_special(&v, 257 + (int64_t)i, marks[i], strlen(marks[i]), 0) == 0);
    return tokenizer_from_vocabulary(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tokenizer *t;
    static struct encoder *e;
    static struct chat chats[FORMS];
    for (int form = FIRST; form < FORMS && !e; form++)
        assert(chat_open(&chats[form], form, t ? t : (t = make()), NULL) == 0);
    e = e ? e : encoder_new(t);
    for (int i = 0; i < (FORMS - FIRST) * 3; i++) {
        struct ids ids = { 0 }, spans = { 0 };
        struct chat chat = chats[FIRST + i / 3];
        chat.use = (enum chat_use)(i % 3);
        if (chat_encode(&chat, e, (const char *)data, size, &ids, &spans) == 0) {
            for (size_t k = 0; k < spans.count; k++)
                assert(spans.data[k] >= (k ? spans.data[k - 1] : 0));
            assert(spans.count ? spans.data[spans.count - 1] == ids.count : !ids.count);
            assert(!ids.count || spans.count >= 2 || chat.use != CHAT_LEARN);
        }
        ids_release(&ids);
        ids_release(&spans);
    }
    return 0;
}
