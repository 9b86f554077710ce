/* Input: a vocab.txt, a NUL, and a text. The words must be the same however the text is read, and
 * each word must be cut as a plain search for the longest piece cuts it. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/base/utf8.h"
#include "tokenizer/files/files.h"
#include "tokenizer/model/wordpiece.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void match(const struct vocabulary *v, const char *word, size_t n, struct ids *out)
{
    struct buf piece = BUF_INIT;
    size_t len = 0, before = out->count;
    for (size_t at = 0; at < n; at += len) {
        int64_t id = -1;
        for (len = n - at; len; len--) {
            buf_clear(&piece);
            buf_adds(&piece, at ? wordpiece_prefix : "");
            buf_add(&piece, word + at, len);
            if ((id = vocabulary_find(v, piece.data, piece.len)) >= 0)
                break;
        }
        if (!len) {
            out->count = before;
            ids_add(out, (uint32_t)v->roles[TOKENIZER_UNKNOWN]);
            break;
        }
        ids_add(out, (uint32_t)id);
    }
    buf_release(&piece);
}

static void check(const struct vocabulary *v, const char *text, size_t n)
{
    static struct normalizer *rules[2]; /* uncased and cased: made once, as they take long */
    struct normalizer **rule = &rules[!v->rules.lowercase];
    if (!*rule)
        *rule = normalizer_new(&v->rules);
    struct words *w = words_new(*rule);
    struct wordpiece *pieces = wordpiece_new(v, (uint32_t)v->roles[TOKENIZER_UNKNOWN], SIZE_MAX);
    struct ids want = { 0 }, got = { 0 };
    struct pieces list;
    words_begin(w, text, n);
    while (words_next(w, &list))
        for (size_t i = 0; i < list.count; i++) {
            const char *word = list.text + list.begins[i];
            size_t len = list.ends[i] - list.begins[i];
            assert(len && utf8_valid(word, len) == len);
            match(v, word, len, &want);
            wordpiece_encode(pieces, word, len, &got);
        }
    assert(want.count == got.count);
    assert(!got.count || !memcmp(want.data, got.data, got.count * sizeof *got.data));
    ids_release(&want);
    ids_release(&got);
    wordpiece_free(pieces);
    words_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
    struct vocabulary v;
    struct buf text = BUF_INIT;
    vocabulary_init(&v);
    if (nul && vocab_txt_parse(&v, (const char *)data, (size_t)(nul - data), "x") == 0) {
        utf8_repair(&text, (const char *)nul + 1, size - (size_t)(nul - data) - 1);
        if (text.len < 512) /* the plain search is cubic */
            check(&v, text.data, text.len);
    }
    buf_release(&text);
    vocabulary_release(&v);
    return 0;
}
