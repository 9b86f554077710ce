/* Parses a vocab.json and a merges.txt, with a line "---" between them. */
#define _GNU_SOURCE /* memmem */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "tokenizer/files/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mark[] = "\n---\n";
    const char *text = (const char *)data, *at = memmem(text, size, mark, strlen(mark));
    size_t n = at ? (size_t)(at - text) : size;
    struct vocabulary v;
    vocabulary_init(&v);
    if (vocab_json_parse(&v, text, n, "vocab.json") == 0) {
        assert(v.count);
        if (at && merges_parse(&v, at + strlen(mark), size - n - strlen(mark), "merges.txt") == 0)
            for (size_t i = 0; i < v.merge_count; i++)
                assert(v.merges[i].left < v.count && v.merges[i].id < v.count);
    }
    vocabulary_release(&v);
    return 0;
}
