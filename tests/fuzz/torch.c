/* Parses a file of torch.save: the archive's directory, and the values of the accepted tensors. */
#include <stddef.h>
#include <stdint.h>

#include "model/formats/torch.h"
#include "tests/fuzz/tensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct safetensors s;
    if (torch_parse(&s, data, size, "fuzz") < 0)
        return 0;
    for (size_t i = 0; i < s.count; i++) {
        const struct safetensor *t = &s.tensors[i];
        if (t->offset > size || t->bytes > size)
            __builtin_trap();
    }
    read_tensors(&s);
    return 0;
}
