/* Parses a .tiktoken file. */
#include <assert.h>
#include <stdint.h>

#include "tokenizer/files/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns 1 if `part` exists before token `id` is made; single bytes exist from the start, whatever
 * their rank. */
static int comes_before(const struct vocabulary *v, uint32_t part, uint32_t id)
{
    return part < id || v->tokens[part].len == 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vocabulary v;
    vocabulary_init(&v);
    if (tiktoken_parse(&v, (const char *)data, size, "x") == 0)
        for (size_t i = 0; i < v.merge_count; i++)
            assert(comes_before(&v, v.merges[i].left, v.merges[i].id) &&
                   comes_before(&v, v.merges[i].right, v.merges[i].id));
    vocabulary_release(&v);
    return 0;
}
