/* Models whose layers are shared by ranks: the losses and gradients of one rank, with the same
 * dropout masks, and how often the ranks meet. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/rng.h"
#include "model/architecture.h"
#include "tests/unit/net.h"
#include "tests/unit/threads.h"

enum { WORDS = 31, PLACES = 12, LENGTH = 11, MOST = 4 };

static struct model_config gpt(void)
{
    return (struct model_config){ .layers = NET_LAYERS,
                                  .width = NET_WIDTH,
                                  .heads = 4,
                                  .inner = 24,
                                  .positions = PLACES,
                                  .vocabulary = WORDS,
                                  .epsilon = 1e-5,
                                  .embedding_dropout = 0.1,
                                  .attention_dropout = 0.2,
                                  .residual_dropout = 0.1,
                                  .init_std = 0.3 };
}

static struct model_config llama(void)
{
    struct model_config c = gpt();
    c.architecture = &architecture_llama;
    c.activation = OPS_SILU;
    c.heads = 8;
    c.kv_heads = 4;
    c.head_width = 6;
    c.qkv_bias = c.out_bias = c.mlp_bias = 1;
    return c;
}

static struct model_config bert(void)
{
    struct model_config c = gpt();
    c.head = HEAD_PRETRAINING;
    c.types = 2;
    c.activation = OPS_GELU;
    return c;
}

static void fill(struct net *n)
{
    static const int64_t lengths[] = { LENGTH, 7 };
    static const int32_t next[] = { 1, 0 };
    const int encoder = n->m.config.head != HEAD_NEXT;
    n->b = (struct batch){
        .B = 2, .T = LENGTH, .ids = n->ids, .labels = n->labels, .key = 5, .training = 1
    };
    for (int64_t i = 0; i < 2 * LENGTH; i++) {
        n->ids[i] = (uint32_t)(rng_at(1, (uint64_t)i) % WORDS);
        n->segments[i] = i % LENGTH > 4;
        n->labels[i] = i % 5 == 2 ? MODEL_IGNORE : (int32_t)(rng_at(2, (uint64_t)i) % WORDS);
    }
    if (encoder) {
        n->b.lengths = lengths;
        n->b.segments = n->segments;
        n->b.next = next;
        n->b.next_weight = 0.7;
    }
}

struct run {
    const struct model_config *config;
    int sequence;
    struct net *whole;              /* after its backward */
    double loss[MOST], worst[MOST]; /* of each rank: its loss, and the worst gradient */
    int64_t forward[MOST], all[MOST];
};

/* The greatest difference of a tensor's gradients, relative to the greatest gradient of its block.
 */
static double difference(const struct net *whole, const struct net *own, size_t i)
{
    const struct tensor *w = &whole->m.tensors.rows[i], *p = &own->m.tensors.rows[i];
    const struct split_runs runs = split_runs(w, p, own->m.split->ranks, own->m.split->rank);
    const float *g = own->g[p->block] + p->offset, *all = whole->g[w->block];
    float *want = mem_alloc((size_t)tensor_elements(p) * sizeof *want);
    double most = 0, size = 0;
    split_cut(want, all + w->offset, &runs, sizeof *want);
    for (int64_t e = 0; e < whole->m.tensors.block_size[w->block]; e++)
        size = fmax(size, fabs((double)all[e]));
    for (int64_t e = 0; e < tensor_elements(p); e++)
        most = fmax(most, fabs((double)g[e] - want[e]));
    free(want);
    return most / size;
}

static void run_rank(void *ctx, struct comm *c)
{
    struct run *r = ctx;
    struct net n;
    comm_regroup(c, 1, c->size[COMM_WORLD]);
    const int rank = c->rank[COMM_TENSOR];
    struct split split = comm_split(c);
    split.sequence = r->sequence;
    net_init_part(&n, r->config, &split, fill, 1);
    n.first = 1;
    net_forward(&n, 1);
    r->forward[rank] = c->counts[COMM_TENSOR].operations;
    c->counts[COMM_TENSOR].operations = 0;
    r->loss[rank] = net_backward(&n, 0.3);
    r->all[rank] = c->counts[COMM_TENSOR].operations;
    for (size_t i = 0; i < n.m.tensors.count; i++)
        r->worst[rank] = fmax(r->worst[rank], difference(r->whole, &n, i));
    net_release(&n);
}

/* How often the ranks meet in the embedding, in a layer's forward and backward, and in the head. */
static void check_meetings(struct model_config c, int sequence, int embedding, int forward,
                           int backward, int head)
{
    struct net whole;
    net_init(&whole, &c, fill, 1);
    whole.first = 1;
    const double loss = net_backward(&whole, 0.3);
    for (int ranks = 2; ranks <= MOST; ranks *= 2) {
        struct run r = { .config = &c, .sequence = sequence, .whole = &whole };
        struct threads *w = threads_new(ranks);
        threads_run(w, run_rank, &r);
        threads_free(w);
        for (int q = 0; q < ranks; q++) {
            cr_assert_eq(r.loss[q], r.loss[0]);
            cr_assert_float_eq(r.loss[q], loss, 1e-6 * loss);
            cr_assert_lt(r.worst[q], 5e-6, "%g", r.worst[q]);
            cr_assert_eq(r.forward[q], 1 + forward * NET_LAYERS);
            cr_assert_eq(r.all[q], embedding + (forward + backward) * NET_LAYERS + head);
        }
    }
    net_release(&whole);
}

static void check(struct model_config c, int embedding, int head)
{
    check_meetings(c, 0, embedding, 2, 2, head);
}

/* Sums become a scatter and a gather each; in a layer's backward the norms' outputs are gathered
 * again, and the norms' gradients summed. */
static void check_rows(struct model_config c)
{
    check_meetings(c, 1, 2, 4, 8, 6);
}

Test(split, gpt)
{
    struct model_config c = gpt();
    check(c, 1, 4);
    check_rows(c);
    c.untied = 1;
    c.embedding_dropout = c.attention_dropout = c.residual_dropout = 0;
    check(c, 1, 4);
    check_rows(c);
}

Test(split, llama)
{
    struct model_config c = llama();
    check(c, 1, 4);
    check_rows(c);
    c.untied = 1;
    check(c, 1, 4);
    check_rows(c);
}

/* Its embedding is computed again in the backward. */
Test(split, bert)
{
    struct model_config c = bert();
    check(c, 2, 4);
    c.untied = c.dropout_first = 1;
    check(c, 2, 4);
    c.bare_head = 1;
    check(c, 2, 4);
}

Test(split, sizes_that_ranks_cannot_share)
{
    struct model m;
    struct model_config c = gpt();
    const struct split split = { .ranks = 3 };
    cr_assert_eq(model_init_split(&m, &c, &split), -1);
    cr_assert_str_eq(err_get(), "4 heads cannot be shared by 3 tensor-parallel ranks");
    c.heads = c.kv_heads = 3;
    c.head_width = 4;
    c.inner = 32;
    cr_assert_eq(model_init_split(&m, &c, &split), -1);
    cr_assert_str_eq(err_get(),
                     "32 channels of the MLP cannot be shared by 3 tensor-parallel ranks");
    c.inner = 33;
    c.positions = 2;
    cr_assert_eq(model_init_split(&m, &c, &split), -1);
    cr_assert_str_eq(err_get(), "2 positions are too few for 3 tensor-parallel ranks");
}

/* Each element of the whole is in one part. */
Test(split, parts_make_the_whole)
{
    struct model whole;
    const struct model_config c = gpt();
    cr_assert_eq(model_init(&whole, &c), 0);
    for (size_t i = 0; i < whole.tensors.count; i++) {
        const struct tensor *row = &whole.tensors.rows[i];
        const int64_t n = tensor_elements(row);
        float *all = mem_zalloc((size_t)n, sizeof *all),
              *part = mem_alloc((size_t)n * sizeof *part);
        for (int rank = 0; rank < 4; rank++) {
            const struct split split = { .ranks = 4, .rank = rank };
            struct model own;
            cr_assert_eq(model_init_split(&own, &c, &split), 0);
            const struct split_runs r = split_runs(row, &own.tensors.rows[i], 4, rank);
            cr_assert_eq(split_elements(&r), tensor_elements(&own.tensors.rows[i]));
            split_cut(part, all, &r, sizeof *part);
            for (int64_t e = 0; e < split_elements(&r); e++)
                part[e]++;
            split_join(all, part, &r, sizeof *part);
            model_release(&own);
        }
        int shared = strstr(row->name, "ln_") == NULL &&
                     strcmp(row->name + 4, "attn.c_proj.bias") &&
                     strcmp(row->name + 4, "mlp.c_proj.bias");
        for (int64_t e = 0; e < n; e++)
            cr_assert_eq(all[e], shared ? 1 : 4, "%s", row->name);
        free(all);
        free(part);
    }
    model_release(&whole);
}
