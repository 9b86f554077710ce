/* bert COMMAND DIR KIND ...: runs a BERT of model/ for tests/peers/bert.py. KIND: 1 encoder, 2
 * pre-training, 3 questions (enum model_head).
 *
 *   bert logits DIR KIND BATCH OUT     writes f32: the encoder's output [rows,C]; then the words'
 *                                      logits [rows,V] and the next sentence's [B,2], or the
 *                                      spans' [rows,2]
 *   bert gradients DIR KIND BATCH OUT  saves the gradients of the loss as a model folder OUT, and
 *                                      the loss, f32, as OUT/loss
 *   bert save DIR KIND OUT             loads and saves; prints how many tensors were made
 *
 * BATCH: i64 B, T, lengths[B]; u32 ids[B,T], segments[B,T]; i32 labels[B,T], next[B], starts[B],
 * ends[B].
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/files/file.h"
#include "model/compute/ops_update.h"
#include "model/folder/folder.h"
#include "model/network/bert_head.h"
#include "model/network/embedding.h"
#include "model/network/layer.h"
#include "tests/unit/cache.h"
#include "tests/unit/save_model.h"
#include "tests/unit/set_path.h"

struct net {
    struct ops *o;
    struct model m;
    struct ops_array *w;
    struct inputs in;
    struct batch b;
    struct buf file;
    int64_t rows;
};

static int read_batch(struct net *n, const char *path)
{
    if (file_read(path, &n->file) < 0)
        return -1;
    const int64_t *numbers = (const int64_t *)(const void *)n->file.data;
    struct batch *b = &n->b;
    b->B = numbers[0];
    b->T = numbers[1];
    b->lengths = numbers + 2;
    b->ids = (const uint32_t *)(const void *)(b->lengths + b->B);
    b->segments = b->ids + b->B * b->T;
    b->labels = (const int32_t *)(const void *)(b->segments + b->B * b->T);
    b->classes = b->labels + b->B * b->T;
    b->starts = b->classes + b->B;
    b->ends = b->starts + b->B;
    struct ops_rows rows = { b->B, b->T, b->lengths };
    n->rows = ops_rows_count(&rows);
    return 0;
}

static void forward(struct net *n, struct ops_array x, struct ops_array caches)
{
    const struct model *m = &n->m;
    int64_t step = n->b.B * n->b.T * m->config.width, size = layer_cache(m, n->b.B, n->b.T, NULL);
    inputs_set(&n->in, n->o, m, &n->b);
    embedding_fwd(m, n->o, x, n->w[0], &n->in);
    for (int64_t l = 0; l < m->config.layers; l++)
        layer_fwd(m, n->o, l, ops_part(x, (l + 1) * step), ops_part(x, l * step), n->w[l + 1],
                  cache_in(m, ops_part(caches, l * size), n->b.B, n->b.T), &n->in);
}

static void add_numbers(const struct net *n, struct buf *to, struct ops_array a, int64_t count)
{
    float *floats = ops_map(n->o, a, count);
    buf_add(to, floats, (size_t)count * sizeof *floats);
    ops_unmap(n->o, a, count, floats);
}

/* Computes the logits of all words and of the next sentences. */
static void pretraining_logits(struct net *n, struct ops_array out, struct ops_array last,
                               struct ops_array head, struct buf *file)
{
    const int64_t V = n->m.config.vocabulary, B = n->b.B;
    int64_t *firsts = mem_alloc((size_t)B * sizeof *firsts);
    struct ops_array rows = ops_buffer(n->o, OPS_I64, B);
    for (int64_t b = 0, row = 0; b < B; row += n->b.lengths[b++])
        firsts[b] = row;
    ops_upload(n->o, rows, firsts, B);
    n->m.head_logits(&n->m, n->o, out, last, head, n->w[0], n->rows);
    ops_scratch_begin(n->o);
    if (n->m.parts == 2)
        ops_copy(n->o, ops_part(out, n->rows * V),
                 bert_first_fwd(&n->m, n->o, last, head, rows, B, no_dropout).logits, 2 * B);
    add_numbers(n, file, out, n->rows * V + (n->m.parts == 2 ? 2 * B : 0));
    ops_buffer_free(n->o, rows);
    free(firsts);
}

static int logits(struct net *n, const char *path)
{
    const struct model_config *c = &n->m.config;
    int64_t step = n->b.B * n->b.T * c->width, V = c->vocabulary;
    struct ops_array x = ops_buffer(n->o, OPS_F32, (c->layers + 1) * step);
    struct ops_array out = ops_buffer(n->o, OPS_F32, n->rows * V + 2 * n->b.B);
    struct ops_array last = ops_part(x, c->layers * step), head = n->w[c->layers + 1];
    struct buf file = BUF_INIT;
    forward(n, x, OPS_NONE);
    add_numbers(n, &file, last, n->rows * c->width);
    if (c->head == HEAD_PRETRAINING) {
        pretraining_logits(n, out, last, head, &file);
    } else if (c->head == HEAD_QUESTIONS) {
        n->m.head_logits(&n->m, n->o, out, last, head, OPS_NONE, n->rows);
        add_numbers(n, &file, out, 2 * n->rows);
    }
    int failed = file_write(path, file.data, file.len);
    buf_release(&file);
    ops_buffer_free(n->o, x);
    ops_buffer_free(n->o, out);
    return failed;
}

/* Sets the weights of the losses: the mean over the labelled words is added to that over the
 * sentences; spans have one mean. */
static double weigh(struct net *n)
{
    int64_t words = 0;
    for (int64_t i = 0; i < n->b.B * n->b.T; i++)
        words += n->b.labels[i] != MODEL_IGNORE;
    n->b.next_weight = (double)words / (double)n->b.B;
    return 1.0 / (double)(n->m.config.head == HEAD_PRETRAINING ? words : n->b.B);
}

/* Returns the weighted sum of the losses. */
static double sum_of(const struct net *n, struct ops_array losses)
{
    double total = 0, sum;
    struct ops_array slot = ops_buffer(n->o, OPS_F64, 1);
    for (int p = 0; p < n->m.parts; p++) {
        int next = n->m.config.head == HEAD_PRETRAINING && p == 1;
        struct ops_scores part = inputs_scores(&n->in, (struct ops_scores){ losses, OPS_NONE }, p);
        ops_zero(n->o, slot, 1);
        ops_add_sum(n->o, slot, part.losses, n->in.targets[p].n);
        ops_download(n->o, &sum, slot, 1);
        total += (next ? n->b.next_weight : n->m.part[p].weight) * sum;
    }
    ops_buffer_free(n->o, slot);
    return total;
}

static float loss_and_gradients(struct net *n, struct ops_array *g)
{
    const struct model *m = &n->m;
    int64_t L = m->config.layers, step = n->b.B * n->b.T * m->config.width;
    int64_t size = layer_cache(m, n->b.B, n->b.T, NULL), most = n->b.B * (n->b.T + 2);
    struct ops_array x = ops_buffer(n->o, OPS_F32, (L + 1) * step);
    struct ops_array caches = ops_buffer(n->o, OPS_F32, L * size);
    struct ops_array dx = ops_buffer(n->o, OPS_F32, step);
    struct ops_scores out = { .losses = ops_buffer(n->o, OPS_F32, most) };
    double scale = weigh(n);
    forward(n, x, caches);
    m->head(m, n->o,
            &(struct head_pass){ out, ops_part(x, L * step), n->w[L + 1], n->w[0], &n->in, dx,
                                 ops_set(g[L + 1]), ops_set(g[0]), scale });
    for (int64_t l = L; l-- > 0;)
        layer_bwd(m, n->o, l, dx, ops_set(g[l + 1]), ops_part(x, l * step), n->w[l + 1],
                  cache_in(m, ops_part(caches, l * size), n->b.B, n->b.T), &n->in);
    embedding_bwd(m, n->o, ops_set(g[0]), dx, n->w[0], &n->in);
    double loss = sum_of(n, out.losses);
    ops_buffer_free(n->o, out.losses);
    ops_buffer_free(n->o, x);
    ops_buffer_free(n->o, caches);
    ops_buffer_free(n->o, dx);
    return (float)(loss * scale);
}

static int gradients(struct net *n, const char *dir)
{
    struct buf path = BUF_INIT;
    struct ops_array *g = mem_zalloc((size_t)n->m.tensors.blocks, sizeof *g);
    for (int b = 0; b < n->m.tensors.blocks; b++)
        g[b] = ops_buffer(n->o, OPS_F32, n->m.tensors.block_size[b]);
    float loss = loss_and_gradients(n, g);
    int failed = save_whole_model(&n->m, n->o, g, dir, -1);
    set_path(&path, dir, "loss");
    if (failed == 0)
        failed = file_write(path.data, &loss, sizeof loss);
    folder_free_blocks(&n->m, n->o, g);
    buf_release(&path);
    return failed;
}

static int save(struct net *n, const char *dir, enum model_head kind, const char *out)
{
    int made;
    if (folder_load(&n->m, n->o, &n->w, dir, kind, 5, &made) < 0)
        return -1;
    printf("%d\n", made);
    return save_whole_model(&n->m, n->o, n->w, out, -1);
}

static int run(struct net *n, int argc, char **argv)
{
    enum model_head kind = argc > 3 ? (enum model_head)atoi(argv[3]) : HEAD_NEXT;
    if (argc == 5 && !strcmp(argv[1], "save"))
        return save(n, argv[2], kind, argv[4]);
    if (argc != 6 || (strcmp(argv[1], "logits") && strcmp(argv[1], "gradients")))
        return err_set("usage: see the head of bert.c");
    if (folder_load(&n->m, n->o, &n->w, argv[2], kind, 0, NULL) < 0 || read_batch(n, argv[4]) < 0)
        return -1;
    return !strcmp(argv[1], "logits") ? logits(n, argv[5]) : gradients(n, argv[5]);
}

int main(int argc, char **argv)
{
    struct net n = { .o = ops_open("cpu", 2), .file = BUF_INIT };
    int failed = run(&n, argc, argv);
    if (failed)
        fprintf(stderr, "bert: %s\n", err_get());
    inputs_release(&n.in, n.o);
    folder_free_blocks(&n.m, n.o, n.w);
    model_release(&n.m);
    buf_release(&n.file);
    ops_free(n.o);
    return failed ? 1 : 0;
}
