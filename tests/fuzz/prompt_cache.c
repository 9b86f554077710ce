/* Parses the head of a prompt cache, with its sizes. */
#include <stdlib.h>

#include "generate/prompt_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct prompt_cache c;
    if (prompt_cache_parse(&c, data, size, "fuzz") == 0) {
        const unsigned char *end = c.values + 4 * (uint64_t)c.layers * c.width * c.tokens;
        if (end + 4 != data + size || (const unsigned char *)c.model + c.model_bytes > end)
            abort(); /* the parts fill the file */
    }
    return 0;
}
