/* Texts: the tokens' bytes are the text's, with U+FFFD for what is not UTF-8; and the word cache
 * changes nothing. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "tokenizer/learn.h"
#include "tokenizer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tokenizer *make(void)
{
    static const char text[] = "the cat's hat and the bat's mat, 12 12 123 -- the end of the "
                               "\xC3\xA9t\xC3\xA9 \xC3\xA9t\xC3\xA9\n\n\n\n    aaaa aaaa  ";
    const char *special[] = { "<|endoftext|>" };
    struct learn_options o = { .vocabulary_size = 320, .special = special, .special_count = 1 };
    struct word_counts *w = word_counts_new();
    struct vocabulary v;
    word_counts_add(w, text, strlen(text));
    int result = learn(&v, w, &o);
    assert(!result);
    word_counts_free(w);
    return tokenizer_from_vocabulary(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tokenizer *t;
    static struct encoder *warm;
    const char *text = (const char *)data;
    struct ids a = { 0 }, b = { 0 };
    struct buf want = BUF_INIT, got = BUF_INIT;
    if (!t) {
        t = make();
        warm = encoder_new(t);
    }
    struct encoder *cold = encoder_new(t);
    encoder_repair(&want, text, size);
    for (int special = 0; special < 2; special++) {
        a.count = b.count = 0;
        buf_clear(&got);
        int failed = encoder_encode(warm, text, size, (enum tokenizer_special)special, &a) ||
                     encoder_encode(cold, text, size, (enum tokenizer_special)special, &b) ||
                     tokenizer_decode(t, a.data, a.count, &got);
        assert(!failed);
        assert(a.count == b.count && (!a.count || !memcmp(a.data, b.data, a.count * sizeof *a.data)));
        assert(got.len == want.len && !memcmp(got.data, want.data, got.len));
    }
    encoder_free(cold);
    ids_release(&a);
    ids_release(&b);
    buf_release(&want);
    buf_release(&got);
    return 0;
}
