/* Parses the header of a GGUF file, and reads the values of its keys, its vocabulary, with which it
 * encodes a text, and the numbers of the accepted tensors. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/formats/gguf.h"
#include "model/folder/gguf_model.h"
#include "tokenizer/files/files.h"
#include "tokenizer/tokenizer.h"

enum { MOST = 16384 }; /* numbers of a matrix: conversions take most of the time */

static void make_matrices(const struct model *m, const struct gguf *g)
{
    const enum ops_type types[] = { OPS_F32, OPS_F16, OPS_Q8, OPS_IQ4_NL };
    struct pool *pool = pool_new(1);
    struct matrix x;
    for (size_t row = 0; row < m->tensors.count; row++)
        for (int t = 0; t < 4 && gguf_model_matrix(&x, g, m, row, NULL) == 0; t++)
            if (x.O * x.I < MOST && stored_fits(types[t], x.I))
                free(matrix_make(&x, types[t], stored_grouped(types[t]), pool));
    pool_free(pool);
}

static void read_vocabulary(const struct gguf *g)
{
    static const char text[] = "The Moon, ab\n caf\xC3\xA9 <s>[CLS]";
    struct vocabulary v;
    struct tokenizer *t = NULL;
    struct ids ids = { 0 };
    vocabulary_init(&v);
    if (gguf_vocabulary_read(&v, g) == 0 && (t = tokenizer_from_vocabulary(&v)) != NULL) {
        struct encoder *e = encoder_new(t);
        encoder_encode(e, text, strlen(text), TOKENIZER_SPECIAL, &ids); /* -1: no such character */
        encoder_free(e);
    }
    ids_release(&ids);
    tokenizer_free(t);
    vocabulary_release(&v);
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
        SCOPED_MEM char *name = mem_strndup(g.keys[i].name, g.keys[i].n);
        gguf_real(&g, name, &x);
        gguf_text(&g, &g.keys[i], &text);
        buf_release(&text);
    }
    for (size_t i = 0; i < g.tensor_count; i++)
        if (g.tensors[i].offset + g.tensors[i].bytes > size)
            __builtin_trap();
    read_vocabulary(&g);
    for (int head = 0; head < MODEL_HEADS; head++) {
        struct model_config c;
        if (gguf_model_config(&c, &g, (enum model_head)head) < 0 || model_init(&m, &c) < 0)
            continue;
        make_matrices(&m, &g);
        model_release(&m);
    }
    g.map = (struct file_map){ 0 };
    gguf_close(&g);
    return 0;
}
