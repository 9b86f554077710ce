/* Parses a line of LAMBADA and finds the last word of its text. */
#include <stdlib.h>

#include "eval/lambada.h"
#include "unicode/whitespace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf text = BUF_INIT;
    if (lambada_parse((const char *)data, size, "fuzz:1", &text) == 0) {
        struct span all = whitespace_strip(text.data, text.len);
        struct span word = whitespace_last_word(text.data, text.len);
        if (word.s + word.n != all.s + all.n || (all.n && !word.n))
            abort(); /* the last word ends where the text does */
        for (size_t i = 0; i < word.n; i++)
            if (whitespace_at(word.s + i, word.n - i))
                abort();
    }
    buf_release(&text);
    return 0;
}
