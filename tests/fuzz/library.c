/* Calls the library with any options, offsets, text and ids. The result must keep the header's
 * promises. The input: a byte for the vocabulary, one for the flags, four for where texts end, a
 * line with options, and the text, which is also read as ids. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/textmill-tokenizer.h"

enum { HEAD = 6, TEXTS = 4 };

static const char *const vocabularies[] = {
    "tests/data/successor/vocab.json", "tests/data/finder/vocab.txt",
    "tests/golden/tokenize/tokenize-offsets-steps/llama.json",
    "tests/golden/tokenize/tokenize-offsets-steps/bert.json"
};

/* Returns a tokenizer without options, which is kept, since opening takes long. */
static struct textmill_tokenizer *plain(int which)
{
    static struct textmill_tokenizer *opened[4];
    struct textmill_error why;
    if (!opened[which])
        opened[which] = textmill_open(vocabularies[which], NULL, &why);
    assert(opened[which]);
    return opened[which];
}

/* Returns a tokenizer with the options of a line, or NULL. */
static struct textmill_tokenizer *open_with(int which, const uint8_t *line, size_t n)
{
    struct textmill_error why;
    char options[256];
    snprintf(options, sizeof options, "%.*s", (int)n, (const char *)line);
    struct textmill_tokenizer *t = *options ? textmill_open(vocabularies[which], options, &why)
                                            : NULL;
    assert(t || !*options || *why.text);
    return t;
}

static void check_tokens(const struct textmill_tokenizer *t, const struct textmill_tokens *out,
                         const uint64_t *ends)
{
    uint64_t from = 0;
    size_t n;
    for (uint64_t text = 0; text < out->texts; from = out->ends[text++])
        for (uint64_t i = from; i < out->ends[text]; i++) {
            assert(textmill_token(t, out->ids[i], &n));
            const uint64_t bytes = ends[text] - (text ? ends[text - 1] : 0);
            assert(!out->offsets || (out->offsets[i][0] <= out->offsets[i][1] &&
                                     (out->replaced || out->offsets[i][1] <= bytes)));
        }
}

static void decode(struct textmill_tokenizer *t, const uint32_t *ids, const uint64_t *ends,
                   uint64_t texts, unsigned how)
{
    struct textmill_texts back;
    struct textmill_error why;
    if (textmill_decode(t, ids, ends, texts, how, 2, &back, &why) == 0) {
        assert(back.texts == texts);
        textmill_texts_free(&back);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size > HEAD ? memchr(data + HEAD, '\n', size - HEAD) : NULL;
    if (!end)
        return 0;
    const size_t n = (size_t)(data + size - end - 1), count = n / 4;
    const int which = data[0] % 4;
    struct textmill_tokenizer *own = open_with(which, data + HEAD, (size_t)(end - data) - HEAD);
    struct textmill_tokenizer *t = own ? own : plain(which);
    struct textmill_tokens tokens;
    struct textmill_error why;
    uint64_t ends[TEXTS], id_ends[TEXTS];
    uint32_t *ids = calloc(count + 1, sizeof *ids);
    assert(ids);
    memcpy(ids, end + 1, count * 4);
    for (int i = 0; i < TEXTS; i++) {
        ends[i] = n * data[2 + i] / 255;
        id_ends[i] = count * data[2 + i] / 255;
    }
    const char *text = (const char *)end + 1;
    if (textmill_encode(t, text, ends, TEXTS, data[1] & 31, 2, &tokens, &why) == 0) {
        assert(tokens.texts == TEXTS);
        check_tokens(t, &tokens, ends);
        decode(t, tokens.ids, tokens.ends, TEXTS, data[1] & TEXTMILL_SKIP_SPECIAL);
        textmill_tokens_free(&tokens);
    }
    decode(t, ids, id_ends, TEXTS, data[1] & TEXTMILL_SKIP_SPECIAL);
    textmill_find(t, text, n);
    textmill_close(own);
    free(ids);
    return 0;
}
