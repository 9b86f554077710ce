/* Parses the header of a safetensors file and reads the values of the accepted tensors. */
#include <stddef.h>
#include <stdint.h>

#include "model/formats/safetensors.h"
#include "tests/fuzz/tensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct safetensors s;
    if (safetensors_parse(&s, data, size, "fuzz") < 0)
        return 0;
    for (size_t i = 0; i < s.count; i++) {
        const struct safetensor *t = &s.tensors[i];
        if (t->offset + t->bytes > size)
            __builtin_trap();
    }
    read_tensors(&s);
    return 0;
}
