/* Encodes texts. The tokens' bytes must be the text's, with U+FFFD in place of invalid UTF-8, with
 * and without the word cache. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/base/utf8.h"
#include "tokenizer/learn/learn.h"
#include "tokenizer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int put_word(void *ctx, const char *word, size_t n)
{
    return word_counts_add(ctx, word, n, 1);
}

static struct tokenizer *make(void)
{
    static const char text[] = "the cat's hat and the bat's mat, 12 12 123 -- the end of the "
                               "\xC3\xA9t\xC3\xA9 \xC3\xA9t\xC3\xA9\n\n\n\n    aaaa aaaa  ";
    const char *special[] = { "<|endoftext|>" };
    struct learn_options o = {
        .vocabulary_size = 320, .special = special, .special_count = 1, .all_bytes = 1
    };
    struct word_counts *w = word_counts_new(0, NULL);
    struct counted_words words = COUNTED_WORDS_INIT;
    struct vocabulary v;
    vocabulary_init(&v);
    assert(splitter_add(&v.splitter, SPLIT_GPT2, NULL, 0) == 0);
    struct tokenizer *frame = tokenizer_from_vocabulary(&v);
    struct encoder *e = encoder_new(frame);
    assert(encoder_pieces(e, text, strlen(text), put_word, w) == 0);
    encoder_free(e);
    tokenizer_into_vocabulary(frame, &v);
    assert(word_counts_join(&words, &w, 1, 1) == 0 && learn(&v, &words, &o) == 0);
    word_counts_free(w);
    counted_words_release(&words);
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
    utf8_repair(&want, text, size);
    for (int special = 0; special < 2; special++) {
        a.count = b.count = 0;
        buf_clear(&got);
        int failed = encoder_encode(warm, text, size, (enum tokenizer_special)special, &a) ||
                     encoder_encode(cold, text, size, (enum tokenizer_special)special, &b) ||
                     tokenizer_decode(t, a.data, a.count, 0, &got);
        assert(!failed);
        assert(a.count == b.count &&
               (!a.count || !memcmp(a.data, b.data, a.count * sizeof *a.data)));
        assert(got.len == want.len && !memcmp(got.data, want.data, got.len));
    }
    encoder_free(cold);
    ids_release(&a);
    ids_release(&b);
    buf_release(&want);
    buf_release(&got);
    return 0;
}
