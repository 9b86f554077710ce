/* Parses a tekken.json. */
#include <assert.h>
#include <stdint.h>

#include "tokenizer/files/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vocabulary v;
    vocabulary_init(&v);
    if (tekken_parse(&v, (const char *)data, size, "x") == 0)
        assert(vocabulary_hole(&v) == v.count);
    vocabulary_release(&v);
    return 0;
}
