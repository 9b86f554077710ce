/* config.json of a model folder, and the tensor table that it asks for. */
#include <stddef.h>
#include <stdint.h>

#include "model/folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct model_config config;
    struct model m;
    if (folder_parse_config(&config, (const char *)data, size, "fuzz") == 0 &&
        config.layers < 100 && model_init_gpt(&m, &config) == 0) {
        if (tensor_parameters(&m.tensors) <= 0)
            __builtin_trap();
        model_release(&m);
    }
    if (folder_parse_bert(&config, (const char *)data, size, "fuzz") == 0 && config.layers < 100 &&
        model_init_bert(&m, &config) == 0) {
        if (tensor_parameters(&m.tensors) <= 0)
            __builtin_trap();
        model_release(&m);
    }
    return 0;
}
