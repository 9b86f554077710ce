/* Reads any bytes as the index of a model's files. Each tensor that can be found is in its file. */
#include <string.h>

#include "model/formats/weights.h"
#include "tests/fuzz/file.h"

/* Writes a file of safetensors with one tensor. */
static void put_tensor(const char *file, const char *tensor)
{
    char bytes[256];
    int n = snprintf(bytes + 8, sizeof bytes - 16,
                     "{\"%s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", tensor);
    memset(bytes, 0, 8);
    bytes[0] = (char)n;
    memset(bytes + 8 + n, 0, 8);
    fuzz_put(file, bytes, (size_t)n + 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weights w;
    const struct safetensors *file;
    float values[2];
    put_tensor("a.safetensors", "a");
    put_tensor("b.safetensors", "b");
    fuzz_put("model.safetensors.index.json", data, size);
    if (weights_open(&w, fuzz_folder()) < 0)
        return 0;
    for (const char *name = "a"; name; name = *name == 'a' ? "b" : NULL) {
        const struct safetensor *t = weights_find(&w, name, &file);
        assert(!t || (t->elements == 2 && file >= w.files && file < w.files + w.count));
        if (t)
            safetensors_read(file, t, values);
    }
    weights_check(&w, 0, 1);
    weights_close(&w);
    return 0;
}
