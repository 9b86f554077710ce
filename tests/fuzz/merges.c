/* Parses a vocab.json, a merges.txt, and added_tokens_decoder of a tokenizer_config.json, with a
 * line "---" between them; of CLIP's the tokenizer.json is made, too. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/formats/js.h"
#include "tokenizer/files/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Cuts the next part off text[0..*n). Returns it, and sets *text and *n to the rest. */
static struct buf next_part(const char **text, size_t *n)
{
    static const char mark[] = "\n---\n";
    const char *at = *n ? memmem(*text, *n, mark, strlen(mark)) : NULL;
    const size_t len = at ? (size_t)(at - *text) : *n, all = at ? len + strlen(mark) : len;
    struct buf part = BUF_INIT;
    buf_add(&part, *text, len);
    *text += all;
    *n -= all;
    return part;
}

static void make_clip(const struct buf *tokens, const struct buf *merges)
{
    struct vocabulary v;
    vocabulary_init(&v);
    if (clip_is(tokens->data, tokens->len) && clip_parse(&v, tokens, "vocab.json") == 0 &&
        merges_parse(&v, merges->data, merges->len, "merges.txt") == 0)
        assert(v.roles[TOKENIZER_UNKNOWN] >= 0);
    vocabulary_release(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    SCOPED(buf) tokens = next_part(&text, &size);
    SCOPED(buf) merges = next_part(&text, &size);
    SCOPED_JS added = js_parse(text, size, "tokenizer_config.json");
    struct vocabulary v;
    vocabulary_init(&v);
    if (vocab_json_parse(&v, tokens.data, tokens.len, "vocab.json") == 0) {
        assert(v.count);
        if (merges_parse(&v, merges.data, merges.len, "merges.txt") == 0)
            for (size_t i = 0; i < v.merge_count; i++)
                assert(v.merges[i].left < v.count && v.merges[i].id < v.count);
        if (added && added_decoder_read(&v, added, 0) == 0)
            for (size_t i = 0; i < v.added_count; i++)
                assert(v.added[i].id < v.count);
    }
    vocabulary_release(&v);
    make_clip(&tokens, &merges);
    return 0;
}
