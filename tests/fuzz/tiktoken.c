/* Parses a .tiktoken file. */
#include <assert.h>
#include <stdint.h>

#include "tokenizer/files/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t length(const struct vocabulary *v, uint32_t id)
{
    return v->tokens[id].len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vocabulary v;
    vocabulary_init(&v);
    if (tiktoken_parse(&v, (const char *)data, size, "x") == 0)
        for (size_t i = 0; i < v.merge_count; i++)
            assert(length(&v, v.merges[i].left) + length(&v, v.merges[i].right) ==
                   length(&v, v.merges[i].id));
    vocabulary_release(&v);
    return 0;
}
