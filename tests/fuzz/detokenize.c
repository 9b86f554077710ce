/* Runs the detokenizers on any bytes. They may only shorten the text, and may drop only white space
 * and the marks @-@ @,@ @.@ and N. */
#include <stdint.h>
#include <stdlib.h>

#include "eval/detokenize.h"
#include "eval/wiki.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t letters(const char *s, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += s[i] >= 'a' && s[i] <= 'z';
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void (*const rules[])(struct buf *) = { detokenize_wiki, detokenize_ptb };
    for (int i = 0; i < 2; i++) {
        struct buf text = BUF_INIT;
        buf_add(&text, data, size);
        if (wiki_words(text.data, text.len) > size + 1)
            abort();
        rules[i](&text);
        if (text.len > size || letters(text.data, text.len) != letters((const char *)data, size))
            abort();
        buf_release(&text);
    }
    return 0;
}
