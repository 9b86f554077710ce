/* Parses a pickle of a dictionary of tensors. The names in the list must occur in the pickle. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "model/formats/pickle.h"

static int check(void *ctx, const struct pickle_tensor *t)
{
    if (t->view.rank > SAFETENSORS_RANK || t->offset < 0 || t->storage_elements < 0 ||
        strlen(t->view.name) + strlen(t->type) + strlen(t->key) > 3 * *(size_t *)ctx)
        __builtin_trap();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pickle_read(data, size, "fuzz", check, &size);
    return 0;
}
