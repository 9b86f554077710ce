/* Parses a pickle of a dictionary of tensors. The names in the list must occur in the pickle. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "model/formats/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pickle p;
    if (pickle_read(&p, data, size, "fuzz") < 0)
        return 0;
    for (size_t i = 0; i < p.count; i++) {
        const struct pickle_tensor *t = &p.tensors[i];
        if (t->rank > PICKLE_RANK || t->offset < 0 || t->storage_elements < 0 ||
            strlen(t->name) + strlen(t->type) + strlen(t->key) > 3 * size)
            __builtin_trap();
    }
    pickle_free(&p);
    return 0;
}
