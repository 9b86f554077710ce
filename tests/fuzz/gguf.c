/* Parses the header of a GGUF file, and reads the values of its keys and the numbers of the
 * accepted tensors. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/gguf.h"
#include "model/gguf_model.h"

static void make_matrices(const struct model *m, const struct gguf *g)
{
    const enum ops_type types[] = { OPS_F32, OPS_F16, OPS_Q8, OPS_Q4 };
    struct pool *pool = pool_new(1);
    struct matrix x;
    for (size_t row = 0; row < m->tensors.count; row++)
        for (int t = 0; t < 4 && gguf_model_matrix(&x, g, m, row, NULL) == 0; t++)
            if (stored_fits(types[t], x.I))
                free(matrix_make(&x, types[t], stored_grouped(types[t]), pool));
    pool_free(pool);
}

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
    for (size_t i = 0; i < g.tensor_count; i++)
        if (g.tensors[i].offset + g.tensors[i].bytes > size)
            __builtin_trap();
    if (gguf_model_read(&m, &g, HEAD_NEXT) == 0) {
        make_matrices(&m, &g);
        model_release(&m);
    }
    g.map = (struct file_map){ 0 };
    gguf_close(&g);
    return 0;
}
