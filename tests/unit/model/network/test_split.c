/* Models whose layers are divided among ranks: losses and gradients must be those of one rank, with
 * the same dropout masks. Also checks how often the ranks communicate. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "model/network/architecture.h"
#include "tests/unit/net.h"
#include "tests/unit/threads.h"

enum { WORDS = 31, PLACES = 12, LENGTH = 11, MOST = 8 };

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

static struct model_config qwen3(void)
{
    struct model_config c = llama();
    c.architecture = &architecture_qwen3;
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

static struct model_config questions(void)
{
    struct model_config c = bert();
    c.architecture = &architecture_distilbert;
    c.head = HEAD_QUESTIONS;
    c.types = 0;
    c.head_dropout = 0.2;
    return c;
}

static struct model_config classes(void)
{
    struct model_config c = bert();
    c.head = HEAD_CLASSES;
    c.head_dropout = 0.2;
    cr_assert_eq(labels_add(&c.classes, "no", 2) | labels_add(&c.classes, "yes", 3), 0);
    return c;
}

static void fill(struct net *n)
{
    static const int64_t lengths[] = { LENGTH, 7 };
    static const int32_t next[] = { 1, 0 }, starts[] = { 8, 1 }, ends[] = { 9, 5 };
    const int encoder = n->m.config.head != HEAD_NEXT;
    n->b = (struct batch){
        .B = 2, .T = LENGTH, .ids = n->ids, .labels = n->labels, .key = 5, .dropout = 1
    };
    for (int64_t i = 0; i < 2 * LENGTH; i++) {
        n->ids[i] = (uint32_t)(rng_at(1, (uint64_t)i) % WORDS);
        n->segments[i] = i % LENGTH > 4;
        n->labels[i] = i % 5 == 2 ? MODEL_IGNORE : (int32_t)(rng_at(2, (uint64_t)i) % WORDS);
    }
    if (encoder) {
        n->b.lengths = lengths;
        n->b.segments = n->segments;
        n->b.classes = next;
        n->b.next_weight = 0.7;
        n->b.starts = starts;
        n->b.ends = ends;
    }
}

/* How often a rank communicates: without the norms' exchanges along SPLIT_WIDTH, and in these
 * exchanges. */
struct meetings {
    int64_t sums, norms;
};

struct run {
    const struct model_config *config;
    int grid[SPLIT_AXES], sequence;
    struct net *whole;              /* after its backward */
    double loss[MOST], worst[MOST]; /* of each rank: its loss, and the worst gradient */
    struct meetings forward[MOST], all[MOST];
};

/* Returns the greatest difference between the gradients of tensor i in the rank's part (own) and in
 * the whole model, relative to the greatest gradient of the block. */
static double difference(const struct net *whole, const struct net *own, size_t i)
{
    const struct tensor *w = &whole->m.tensors.rows[i], *p = &own->m.tensors.rows[i];
    const struct split_runs runs = split_runs(w, p, own->m.split, split_number(own->m.split));
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

/* The split of a rank, with an operation that counts the exchanges for norms. */
struct counted {
    struct split real;
    int64_t norms;
};

static void count(void *ctx, enum split_exchange how, enum split_axis axis, struct ops *o,
                  struct ops_array x, int64_t N, int64_t C, const char *what)
{
    struct counted *k = ctx;
    k->norms += axis == SPLIT_WIDTH &&
                (!strcmp(what, "sums of a norm's gradients") || !strcmp(what, "moments of rows"));
    k->real.exchange(k->real.ctx, how, axis, o, x, N, C, what);
}

/* Returns the counts since the last call. */
static struct meetings take_meetings(struct counted *k, struct comm *c)
{
    int64_t all = 0;
    for (int g = COMM_TENSOR; g <= COMM_TENSOR2; g++) {
        all += c->counts[g].operations;
        c->counts[g].operations = 0;
    }
    struct meetings taken = { all - k->norms, k->norms };
    k->norms = 0;
    return taken;
}

static void run_rank(void *ctx, struct comm *c)
{
    struct run *r = ctx;
    struct net n;
    comm_regroup(c, 1, r->grid[0], r->grid[1]);
    const int rank = c->rank[COMM_TENSOR];
    struct counted counted = { .real = comm_split(c) };
    struct split split = counted.real;
    split.exchange = count;
    split.ctx = &counted;
    split.sequence = r->sequence;
    net_init_part(&n, r->config, &split, fill, 1);
    n.first = 1;
    net_forward(&n, 1);
    r->forward[rank] = take_meetings(&counted, c);
    r->loss[rank] = net_backward(&n, 0.3);
    r->all[rank] = take_meetings(&counted, c);
    for (size_t i = 0; i < n.m.tensors.count; i++)
        r->worst[rank] = fmax(r->worst[rank], difference(r->whole, &n, i));
    net_release(&n);
}

/* How often ranks are expected to communicate in the embedding, in a layer's forward and backward,
 * and in the head; and for norms in the forward before the head, and in all. */
struct wanted {
    int embedding, forward, backward, head;
    int norms_before, norms;
};

static void check_grid(const struct model_config *c, struct net *whole, double loss, int heads,
                       int width, int sequence, struct wanted m)
{
    struct run r = { .config = c, .grid = { heads, width }, .sequence = sequence, .whole = whole };
    struct threads *w = threads_new(heads * width);
    if (heads > 1 && c->architecture == &architecture_qwen3)
        m.backward += 2; /* the gradients of the norms that each head has */
    threads_run(w, run_rank, &r);
    threads_free(w);
    for (int q = 0; q < heads * width; q++) {
        cr_assert_eq(r.loss[q], r.loss[0]);
        cr_assert_float_eq(r.loss[q], loss, 1e-6 * loss, "%dx%d: %g %g", heads, width, r.loss[q],
                           loss);
        cr_assert_lt(r.worst[q], 5e-6, "%dx%d: %g", heads, width, r.worst[q]);
        cr_assert_eq(r.forward[q].sums, (heads > 1) + m.forward * NET_LAYERS);
        cr_assert_eq(r.all[q].sums,
                     (heads > 1) * m.embedding + (m.forward + m.backward) * NET_LAYERS + m.head);
        cr_assert_eq(r.forward[q].norms, m.norms_before);
        cr_assert_eq(r.all[q].norms, m.norms);
    }
}

/* Checks how often the ranks communicate in the embedding, in a layer's forward and backward, and
 * in the head. */
static void check_meetings(struct model_config c, int sequence, int embedding, int forward,
                           int backward, int head)
{
    struct net whole;
    net_init(&whole, &c, fill, 1);
    whole.first = 1;
    const double loss = net_backward(&whole, 0.3);
    for (int ranks = 2; ranks <= 4; ranks *= 2)
        check_grid(&c, &whole, loss, ranks, 1, sequence,
                   (struct wanted){ embedding, forward, backward, head, 0, 0 });
    net_release(&whole);
}

/* How often ranks communicate in the embedding and in the head, with whole rows and with a part of
 * the rows on each rank; and in the head along SPLIT_WIDTH. */
struct ends {
    int embedding, head, embedding_of_rows, head_of_rows, head_along_width;
};

/* BERT's embedding is computed again in the backward, with its norm. */
static const struct ends decoder = { 1, 4, 2, 6, 1 }, masked_words = { 2, 4, 4, 5, 4 },
                         bare = { 2, 4, 4, 5, 2 }, words_alone = { 2, 4, 4, 5, 3 },
                         answers = { 2, 0, 4, 1, 1 };

/* Checks ranks along both dimensions: 4 times in a layer's forward, 4 times in its backward. With a
 * part of the rows on each rank, each sum along SPLIT_HEADS becomes a scatter and a gather. */
static void check_two_dimensions(struct model_config c, struct ends e)
{
    const int again = c.head != HEAD_NEXT; /* the embedding's norm */
    const int before = 2 * NET_LAYERS + again, norms = 4 * NET_LAYERS + 2 + again;
    struct net whole;
    net_init(&whole, &c, fill, 1);
    whole.first = 1;
    const double loss = net_backward(&whole, 0.3);
    check_grid(&c, &whole, loss, 1, 2, 0,
               (struct wanted){ 1, 2, 2, e.head_along_width, before, norms });
    for (int heads = 2; heads <= 4; heads *= 2) {
        check_grid(
            &c, &whole, loss, heads, 2, 0,
            (struct wanted){ e.embedding, 4, 4, e.head + e.head_along_width, before, norms });
        check_grid(&c, &whole, loss, heads, 2, 1,
                   (struct wanted){ e.embedding_of_rows, 6, 10, e.head_of_rows + e.head_along_width,
                                    before, norms });
    }
    net_release(&whole);
}

/* Checks ranks along one dimension. With a part of the rows on each rank, a layer's backward
 * gathers the inputs of its matrices again, and sums the norms' gradients. */
static void check_one_dimension(struct model_config c, struct ends e)
{
    check_meetings(c, 0, e.embedding, 2, 2, e.head);
    check_meetings(c, 1, e.embedding_of_rows, 4, 8, e.head_of_rows);
}

static void check(struct model_config c, struct ends e)
{
    check_one_dimension(c, e);
    check_two_dimensions(c, e);
}

/* In one dimension ranks communicate 1, 4 and 4 times; in two dimensions 1, 8 and 5 times. */
Test(split, gpt)
{
    struct model_config c = gpt();
    check(c, decoder);
    c.untied = 1;
    c.embedding_dropout = c.attention_dropout = c.residual_dropout = 0;
    check(c, decoder);
}

Test(split, llama)
{
    struct model_config c = llama();
    check(c, decoder);
    c.untied = 1;
    check(c, decoder);
}

Test(split, qwen3)
{
    struct model_config c = qwen3();
    check(c, decoder);
    c.attention_dropout = 0;
    check(c, decoder);
}

Test(split, bert)
{
    struct model_config c = bert();
    check(c, masked_words);
    c.untied = c.dropout_first = 1;
    check(c, masked_words);
    c.bare_head = 1;
    check(c, bare);
}

Test(split, roberta)
{
    struct model_config c = bert();
    c.architecture = &architecture_roberta;
    c.types = 0;
    check(c, words_alone);
}

Test(split, classes)
{
    check(classes(), answers);
}

Test(split, questions)
{
    struct model_config c = questions();
    check(c, answers);
    c.architecture = &architecture_bert;
    c.types = 2;
    c.head_dropout = 0;
    check(c, answers);
}

Test(split, sizes_that_ranks_cannot_share)
{
    struct model m;
    struct model_config c = gpt();
    const struct split split = { .ranks = { 3, 1 } }, wide = { .ranks = { 1, 4 } };
    cr_assert_eq(model_init_split(&m, &c, &wide), -1);
    cr_assert_str_eq(err_get(),
                     "a width of 20 cannot be shared by 4 tensor-parallel ranks in even parts");
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

/* Checks that each element of a tensor is in exactly one of the parts that a sum includes. */
static void check_parts(const struct model_config *c, const struct model *whole, int heads,
                        int width, size_t i)
{
    const struct tensor *row = &whole->tensors.rows[i];
    const int64_t n = tensor_elements(row);
    float *all = mem_zalloc((size_t)n, sizeof *all), *part = mem_alloc((size_t)n * sizeof *part);
    for (int q = 0; q < heads * width; q++) {
        const struct split split = { .ranks = { heads, width }, .rank = { q / width, q % width } };
        struct model own;
        cr_assert_eq(split_number(&split), q);
        cr_assert_eq(model_init_split(&own, c, &split), 0);
        const struct tensor *of_rank = &own.tensors.rows[i];
        const struct split_runs r = split_runs(row, of_rank, &split, q);
        cr_assert_eq(split_elements(&r), tensor_elements(of_rank));
        split_cut(part, all, &r, sizeof *part);
        for (int64_t e = 0; e < split_elements(&r); e++)
            part[e] += (float)split_counts(row, of_rank, &split, q);
        split_join(all, part, &r, sizeof *part);
        model_release(&own);
    }
    for (int64_t e = 0; e < n; e++)
        cr_assert_eq(all[e], 1, "%s", row->name);
    free(all);
    free(part);
}

Test(split, parts_make_the_whole)
{
    static const int grids[][2] = { { 4, 1 }, { 1, 2 }, { 2, 2 }, { 4, 2 } };
    struct model whole;
    const struct model_config configs[] = { gpt(), llama(), qwen3(), bert(), questions() };
    for (int k = 0; k < 5; k++) {
        cr_assert_eq(model_init(&whole, &configs[k]), 0);
        for (size_t i = 0; i < whole.tensors.count; i++)
            for (int g = 0; g < 4; g++)
                check_parts(&configs[k], &whole, grids[g][0], grids[g][1], i);
        model_release(&whole);
    }
}
