/* Input: up to the first NUL a sentence model, which is used if it is valid; then a text to split.
 * The output must equal the input except for spaces at the ends of sentences, and splitting twice
 * must give the same. */
#include <stdint.h>
#include <string.h>

#include "common/base/buf.h"
#include "wikiprep/sentences/letter.h"
#include "wikiprep/sentences/sentence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Appends the text without spaces and line ends. */
static void add_solid(struct buf *out, const char *s, size_t n)
{
    for (const char *end = s + n; s < end;) {
        struct letter c = letter_at(s, end);
        if (c.kind != LETTER_SPACE && c.code != '\n' && c.code != '\r')
            buf_add(out, s, c.len);
        s += c.len;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct buf out = BUF_INIT, before = BUF_INIT, after = BUF_INIT;
    const char *s = (const char *)data;
    size_t table = strnlen(s, size), text = table < size ? table + 1 : size;
    struct sentence_model *m = sentence_model_new(table % 2 ? "en" : "de");
    int read = sentence_model_parse(m, s, table, "input");
    if (read < 0)
        text = 0;
    sentence_split_text(m, &out, s + text, size - text);
    buf_clear(&before);
    buf_clear(&after);
    add_solid(&before, s + text, size - text);
    add_solid(&after, out.data, out.len);
    if (before.len != after.len || memcmp(before.data, after.data, before.len) != 0)
        __builtin_trap();
    sentence_model_free(m);
    return 0;
}
