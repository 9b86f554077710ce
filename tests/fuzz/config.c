/* Parses the config.json of a model folder and makes the tensor table for it. */
#include <stddef.h>
#include <stdint.h>

#include "model/network/architecture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct model_config config;
    struct model m;
    for (int head = 0; head < MODEL_HEADS; head++)
        if (architecture_read(&config, (enum model_head)head, (const char *)data, size, "fuzz") ==
                0 &&
            config.layers < 100 && model_init(&m, &config) == 0) {
            if (tensor_parameters(&m.tensors) <= 0)
                __builtin_trap();
            model_release(&m);
        }
    return 0;
}
