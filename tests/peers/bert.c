/* bert COMMAND DIR KIND ...: what tests/peers/bert.py asks of model/. KIND: 1 encoder, 2
 * pre-training, 3 questions (enum model_kind).
 *
 *   bert logits DIR KIND BATCH OUT     writes f32: the encoder's output [rows,C], then the words'
 *                                      logits [rows,V] and the next sentence's [B,2], or the
 *                                      spans' [rows,2]
 *   bert gradients DIR KIND BATCH OUT  saves the gradients of the loss as a model folder OUT, and
 * the loss, f32, as OUT/loss bert save DIR KIND OUT             loads and saves; prints how many
 * tensors were made
 *
 * BATCH: i64 B, T, lengths[B]; u32 ids[B,T], segments[B,T]; i32 labels[B,T], next[B], starts[B],
 * ends[B].
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/file.h"
#include "common/mem.h"
#include "model/bert.h"
#include "model/folder.h"

struct net {
    struct ops *o;
    struct model m;
    float **w;
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
    b->next = b->labels + b->B * b->T;
    b->starts = b->next + b->B;
    b->ends = b->starts + b->B;
    struct ops_rows rows = { b->B, b->T, b->lengths };
    n->rows = ops_rows_count(&rows);
    return 0;
}

static void forward(struct net *n, float *x, float *caches)
{
    const struct model *m = &n->m;
    int64_t step = n->b.B * n->b.T * m->config.width,
            size = m->layer_cache(m, n->b.B, n->b.T, NULL);
    m->embedding_fwd(m, n->o, x, n->w[0], &n->b);
    for (int64_t l = 0; l < m->config.layers; l++)
        m->layer_fwd(m, n->o, l, x + (l + 1) * step, x + l * step, n->w[l + 1],
                     model_cache_in(m, caches ? caches + l * size : NULL, n->b.B, n->b.T), &n->b);
}

static int logits(struct net *n, const char *path)
{
    const struct model_config *c = &n->m.config;
    int64_t step = n->b.B * n->b.T * c->width, V = c->vocabulary;
    float *x = ops_buffer(n->o, (c->layers + 1) * step), *last = x + c->layers * step;
    float *out = ops_buffer(n->o, n->rows * V + 2 * n->b.B);
    const float *head = n->w[c->layers + 1];
    struct buf file = BUF_INIT;
    forward(n, x, NULL);
    buf_add(&file, last, (size_t)(n->rows * c->width) * sizeof *last);
    if (c->kind == MODEL_BERT_PRETRAINING) {
        int64_t *index = mem_alloc((size_t)n->rows * sizeof *index);
        for (int64_t i = 0; i < n->rows; i++)
            index[i] = i;
        bert_word_logits(&n->m, n->o, out, last, head, n->w[0], index, n->rows);
        bert_next_logits(&n->m, n->o, out + n->rows * V, last, head, &n->b);
        buf_add(&file, out, (size_t)(n->rows * V + 2 * n->b.B) * sizeof *out);
        free(index);
    } else if (c->kind == MODEL_BERT_QUESTIONS) {
        bert_span_logits(&n->m, n->o, out, last, head, &n->b);
        buf_add(&file, out, (size_t)(2 * n->rows) * sizeof *out);
    }
    int failed = file_write(path, file.data, file.len);
    buf_release(&file);
    ops_buffer_free(n->o, x, (c->layers + 1) * step);
    ops_buffer_free(n->o, out, n->rows * V + 2 * n->b.B);
    return failed;
}

/* The mean over the labelled words and that over the sentences are added; spans have one mean. */
static double weigh(struct net *n)
{
    int64_t words = 0;
    for (int64_t i = 0; i < n->b.B * n->b.T; i++)
        words += n->b.labels[i] != MODEL_IGNORE;
    n->b.next_weight = (double)words / (double)n->b.B;
    return 1.0 / (double)(n->m.config.kind == MODEL_BERT_PRETRAINING ? words : n->b.B);
}

static float loss_and_gradients(struct net *n, float **g)
{
    const struct model *m = &n->m;
    int64_t L = m->config.layers, step = n->b.B * n->b.T * m->config.width;
    int64_t size = m->layer_cache(m, n->b.B, n->b.T, NULL);
    float *x = ops_buffer(n->o, (L + 1) * step), *caches = ops_buffer(n->o, L * size);
    float *dx = ops_buffer(n->o, step);
    double scale = weigh(n);
    forward(n, x, caches);
    double loss = m->head_fwd_bwd(m, n->o, NULL, NULL, dx, g[L + 1], g[0], x + L * step,
                                  n->w[L + 1], n->w[0], scale, &n->b);
    for (int64_t l = L; l-- > 0;)
        m->layer_bwd(m, n->o, l, dx, g[l + 1], x + l * step, n->w[l + 1],
                     model_cache_in(m, caches + l * size, n->b.B, n->b.T), &n->b);
    m->embedding_bwd(m, n->o, g[0], dx, n->w[0], &n->b);
    ops_buffer_free(n->o, x, (L + 1) * step);
    ops_buffer_free(n->o, caches, L * size);
    ops_buffer_free(n->o, dx, step);
    return (float)(loss * scale);
}

static int gradients(struct net *n, const char *dir)
{
    struct buf path = BUF_INIT;
    float **g = mem_zalloc((size_t)n->m.tensors.blocks, sizeof *g);
    for (int b = 0; b < n->m.tensors.blocks; b++)
        g[b] = ops_buffer(n->o, n->m.tensors.block_size[b]);
    float loss = loss_and_gradients(n, g);
    int failed = folder_save(&n->m, g, dir, -1);
    file_join(&path, dir, "loss");
    if (failed == 0)
        failed = file_write(path.data, &loss, sizeof loss);
    folder_free_blocks(&n->m, n->o, g);
    buf_release(&path);
    return failed;
}

static int save(struct net *n, const char *dir, enum model_kind kind, const char *out)
{
    int made;
    if (folder_load_bert(&n->m, n->o, &n->w, dir, kind, 5, &made) < 0)
        return -1;
    printf("%d\n", made);
    return folder_save(&n->m, n->w, out, -1);
}

static int run(struct net *n, int argc, char **argv)
{
    enum model_kind kind = argc > 3 ? (enum model_kind)atoi(argv[3]) : MODEL_GPT;
    if (argc == 5 && !strcmp(argv[1], "save"))
        return save(n, argv[2], kind, argv[4]);
    if (argc != 6 || (strcmp(argv[1], "logits") && strcmp(argv[1], "gradients")))
        return err_set("usage: see the head of bert.c");
    if (folder_load_bert(&n->m, n->o, &n->w, argv[2], kind, 0, NULL) < 0 ||
        read_batch(n, argv[4]) < 0)
        return -1;
    return !strcmp(argv[1], "logits") ? logits(n, argv[5]) : gradients(n, argv[5]);
}

int main(int argc, char **argv)
{
    struct net n = { .o = ops_new(2), .file = BUF_INIT };
    int failed = run(&n, argc, argv);
    if (failed)
        fprintf(stderr, "bert: %s\n", err_get());
    folder_free_blocks(&n.m, n.o, n.w);
    model_release(&n.m);
    buf_release(&n.file);
    ops_free(n.o);
    return failed ? 1 : 0;
}
