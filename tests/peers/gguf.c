/* gguf FILE HEAD WEIGHTS IDS OUT: runs a model file for tests/peers/gguf_foreign.py. HEAD: 0 a
 * decoder, 1 an encoder (enum model_head). WEIGHTS: a type of weights (enum ops_type), or -1 for
 * the file's own. Reads u32 IDS, one sequence, and writes f32: the logits [T,V] of a decoder, the
 * last layer's output [T,C] of an encoder. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/files/file.h"
#include "model/compute/stored.h"
#include "model/folder/parameters.h"
#include "model/network/forward.h"

static int run(struct ops *o, const struct model *m, const struct parameters *p, char **paths)
{
    struct buf ids = BUF_INIT;
    struct inputs in = { 0 };
    struct forward f = { .model = m, .ops = o, .blocks = p->blocks };
    if (file_read(paths[0], &ids) < 0)
        return -1;
    const int64_t T = (int64_t)ids.len / 4, V = m->config.vocabulary, C = m->config.width;
    const int decoder = m->config.head == HEAD_NEXT;
    const struct batch b = { .B = 1, .T = T, .ids = (const uint32_t *)(const void *)ids.data };
    struct ops_array out = ops_buffer(o, OPS_F32, T * V);
    inputs_set(&in, o, m, &b);
    struct ops_array x = forward_layers(&f, &in);
    if (decoder)
        forward_logits(&f, out, x, T);
    const int64_t n = T * (decoder ? V : C);
    float *floats = ops_map(o, decoder ? out : x, n);
    int failed = file_write(paths[1], floats, (size_t)n * sizeof *floats);
    ops_unmap(o, decoder ? out : x, n, floats);
    inputs_release(&in, o);
    forward_release(&f);
    ops_buffer_free(o, out);
    buf_release(&ids);
    return failed;
}

int main(int argc, char **argv)
{
    struct parameters p;
    struct model m;
    struct ops *o = ops_open("cpu", 2);
    if (argc != 6)
        return 2;
    const int type = atoi(argv[3]);
    int failed = parameters_load(&p, &m, o, argv[1], (enum model_head)atoi(argv[2]),
                                 type < 0 ? STORED_AUTO : (enum ops_type)type);
    if (!failed) {
        failed = run(o, &m, &p, argv + 4);
        parameters_release(&p, &m, o);
    }
    ops_free(o);
    if (failed)
        fprintf(stderr, "gguf: %s\n", err_get());
    return failed != 0;
}
