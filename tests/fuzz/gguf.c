/* Parses the header of a GGUF file, and reads the values of its keys and the numbers of the
 * accepted tensors. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/gguf.h"
#include "common/mem.h"
#include "model/gguf_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gguf g;
    struct model m;
    if (gguf_parse(&g, data, size, "fuzz") < 0)
        return 0;
    for (size_t i = 0; i < g.key_count; i++) {
        double x;
        struct buf text = BUF_INIT;
        gguf_real(&g, &g.keys[i], &x);
        gguf_text(&g, &g.keys[i], &text);
        buf_release(&text);
    }
    for (size_t i = 0; i < g.tensor_count; i++) {
        const struct gguf_tensor *t = &g.tensors[i];
        if (t->offset + t->bytes > size)
            __builtin_trap();
        float *out = mem_alloc((size_t)t->elements * sizeof *out);
        gguf_model_numbers(&g, t, out);
        free(out);
    }
    if (gguf_model_read(&m, &g, HEAD_NEXT) == 0)
        model_release(&m);
    g.map = (struct file_map){ 0 };
    gguf_close(&g);
    return 0;
}
