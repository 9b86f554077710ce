/* Samples for BERT of a Megatron pair of sentences and its map. */
#include <assert.h>
#include <stdlib.h>

#include "common/err.h"
#include "common/mem.h"
#include "tfrecord/read/masked_pairs.h"
#include "tokenizer/tokenizer.h"
#include "train/samples/samples.h"

struct pair_samples {
    struct samples samples; /* first, so that pointers to it and to this struct are equal */
    struct masked_pairs *pairs;
    struct masked_pairs_recipe recipe;
    unsigned char *continues; /* of `recipe` */
};

/* ---- reading ------------------------------------------------------------------------------ */

static int read_pair(const struct samples *s, uint64_t k, struct sequences *out)
{
    const struct pair_samples *p = (const struct pair_samples *)s;
    const int64_t i = sequences_add(out), at = i * out->T;
    struct bert_row row = { .ids = out->ids + at,
                            .segments = out->segments + at,
                            .labels = out->labels + at };
    if (masked_pairs_read(p->pairs, &p->recipe, k, &row) < 0)
        return -1;
    out->lengths[i] = row.length;
    out->next[i] = row.next;
    return 0;
}

/* Adds training sample k, which is that of row k of the map: the map has been shuffled when it was
 * made, and Megatron uses it from its first row on. Returns 0, or -1 with an error. */
static int draw_pair(const struct samples *s, uint64_t key, uint64_t k, struct sequences *out)
{
    (void)key;
    return read_pair(s, k, out);
}

static void describe(const struct samples *s, const char *begins, double drawn, struct buf *out)
{
    (void)drawn;
    buf_addf(out, "%smap_passes=%g\n", begins, (double)s->count / s->epoch);
}

static void close_pairs(struct samples *s)
{
    struct pair_samples *p = (struct pair_samples *)s;
    masked_pairs_close(p->pairs);
    free(p->continues);
    free(p);
}

/* ---- opening ------------------------------------------------------------------------------ */

/* Sets the ids of p->recipe, and which pieces continue a word, from the vocabulary t. Returns 0, or
 * -1 with an error. */
static int take_vocabulary(struct pair_samples *p, const struct tokenizer *t)
{
    struct masked_pairs_recipe *r = &p->recipe;
    const int64_t cls = tokenizer_role(t, TOKENIZER_CLS), sep = tokenizer_role(t, TOKENIZER_SEP);
    const int64_t mask = tokenizer_role(t, TOKENIZER_MASK);
    if (cls < 0 || sep < 0 || mask < 0)
        return err_set("the vocabulary has no %s token", cls < 0   ? "[CLS]"
                                                         : sep < 0 ? "[SEP]"
                                                                   : "[MASK]");
    r->cls = (uint32_t)cls;
    r->sep = (uint32_t)sep;
    r->mask = (uint32_t)mask;
    r->vocabulary = tokenizer_size(t);
    r->continues = p->continues = mem_zalloc(r->vocabulary, 1);
    for (uint32_t id = 0; id < r->vocabulary; id++) {
        size_t n;
        const char *token = tokenizer_token(t, id, &n);
        p->continues[id] = token && n >= 2 && token[0] == '#' && token[1] == '#';
    }
    return 0;
}

/* Sets the recipe from the vocabulary of --vocab or, if that is not given, from the one kept with
 * the pair. Returns 0, or -1 with an error. */
static int find_vocabulary(struct pair_samples *p, const struct samples_config *c)
{
    if (c->tokenizer)
        return take_vocabulary(p, c->tokenizer);
    const char *path = masked_pairs_tokenizer(p->pairs);
    if (!path)
        return err_set("no vocabulary is kept with the data: give --vocab");
    struct tokenizer *t = tokenizer_load(path);
    if (!t)
        return -1;
    int result = take_vocabulary(p, t);
    tokenizer_free(t);
    return result < 0 ? err_in("%s", path) : 0;
}

static int settle_lengths(struct pair_samples *p, const struct samples_config *c)
{
    enum { SPECIAL = 3 }; /* [CLS] and two [SEP] */
    const uint32_t target = masked_pairs_target(p->pairs);
    p->samples.T = c->T ? c->T : target + SPECIAL;
    p->samples.mask_tokens = c->mask_tokens ? c->mask_tokens : masked_pairs_most(target);
    if (!masked_pairs_most(target))
        return err_set("has samples of up to %u tokens; none of them can be masked", target);
    if (p->samples.T >= target + SPECIAL)
        return 0;
    return err_set("has samples of up to %u tokens, for which sequence-length must be %u or more, "
                   "but it is %lld",
                   target, target + SPECIAL, (long long)p->samples.T);
}

static int open_pairs(struct pair_samples *p, const struct samples_config *c, const char *path)
{
    p->pairs = masked_pairs_open(path);
    if (!p->pairs)
        return -1;
    if (settle_lengths(p, c) < 0 || find_vocabulary(p, c) < 0)
        return err_in("%s", path);
    p->recipe.seed = (uint32_t)c->seed;
    p->recipe.mask_tokens = (uint32_t)c->mask_tokens;
    p->samples.count = masked_pairs_count(p->pairs);
    p->samples.epoch = masked_pairs_epoch(p->pairs);
    p->samples.tokens = p->samples.count * (uint64_t)p->samples.T;
    p->samples.checksum = masked_pairs_checksum(p->pairs);
    p->samples.vocabulary = masked_pairs_vocabulary(p->pairs);
    p->samples.tokenizer = masked_pairs_tokenizer(p->pairs);
    return 0;
}

struct samples *samples_open_pairs(const struct samples_config *c, const struct opt_list *paths,
                                   const char *what)
{
    assert(paths->count);
    if (paths->count > 1) {
        err_set("%s has a map of sentences and other files: give each a weight, as A@MAP.npy:1,B:1",
                what);
        return NULL;
    }
    struct pair_samples *p = mem_zalloc(1, sizeof *p);
    p->samples = (struct samples){ .most = 1,
                                   .encoder = 1,
                                   .read = read_pair,
                                   .draw = draw_pair,
                                   .describe = describe,
                                   .close = close_pairs };
    if (open_pairs(p, c, paths->items[0]) == 0)
        return &p->samples;
    close_pairs(&p->samples);
    return NULL;
}
