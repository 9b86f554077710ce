/* Samples of several sources, blended by weight. */

#include "common/base/hash.h"
#include "common/base/rng.h"
#include "tfrecord/formats/blend.h"
#include "train/samples/batches.h"
#include "train/samples/samples.h"

struct blend_samples {
    struct samples samples; /* first, so that pointers to it and to this struct are equal */
    struct blend *blend;
    struct samples **sources; /* [blend->count] */
};

/* ---- reading ------------------------------------------------------------------------------ */

/* Returns the samples of source *i, from which sample k of the blend comes, and sets *sample to the
 * number of its samples that come before k (blend_find). */
static struct samples *find_source(const struct blend_samples *b, uint64_t k, size_t *i,
                                   uint64_t *sample)
{
    blend_find(b->blend, k, i, sample);
    struct samples *source = b->sources[*i];
    source->ids = b->samples.ids;
    return source;
}

static int draw(const struct samples *s, uint64_t key, uint64_t k, struct sequences *out)
{
    size_t i;
    uint64_t sample;
    const struct samples *source = find_source((const struct blend_samples *)s, k, &i, &sample);
    return batches_draw(source, rng_key(key, i), sample, out);
}

static int read_sample(const struct samples *s, uint64_t k, struct sequences *out)
{
    size_t i;
    uint64_t sample;
    const struct samples *source = find_source((const struct blend_samples *)s, k, &i, &sample);
    return source->read(source, sample % source->count, out);
}

/* Describes the sources of the blend after `drawn` samples were drawn. A source's number of samples
 * is computed from its weight; the true number differs by a few at most. */
static void describe(const struct samples *s, const char *begins, double drawn, struct buf *out)
{
    const struct blend_samples *b = (const struct blend_samples *)s;
    for (size_t i = 0; i < b->blend->count; i++) {
        double samples = b->blend->weights[i] * drawn;
        buf_addf(out, "%ssource=%s weight=%g sequences=%llu", begins, b->blend->paths[i],
                 b->blend->weights[i], (unsigned long long)b->sources[i]->count);
        if (drawn > 0)
            buf_addf(out, " samples=%.0f epochs=%.4f", samples,
                     samples / samples_epoch(b->sources[i]));
        buf_addc(out, '\n');
    }
}

static void close_blend(struct samples *s)
{
    struct blend_samples *b = (struct blend_samples *)s;
    for (size_t i = 0; i < b->blend->count; i++)
        samples_close(b->sources[i]);
    file_names_release(&s->facts.tokenizers);
    blend_release(b->blend);
    free(b->blend);
    free(b->sources);
}

/* ---- opening ------------------------------------------------------------------------------ */

static struct samples *open_source(const struct blend_samples *b, size_t i, samples_open *open,
                                   struct samples_config *c, const char *what)
{
    const char *path = b->blend->paths[i];
    if (!strcmp(path, "generated")) {
        err_set("generated data cannot be a source of a blend");
        return NULL;
    }
    return open(c, &(struct opt_list){ .items = &path, .count = 1 }, what);
}

/* Adds the counts of source i to those of the blend, whose checksum is that of the first
 * source that has one. Returns 0, or -1 with an error if the vocabulary of source i is
 * another one. */
static int add_source(struct blend_samples *b, size_t i)
{
    struct samples *all = &b->samples;
    const struct samples *one = b->sources[i];
    struct dataset_facts *facts = &all->facts;
    const struct dataset_facts *own = &one->facts;
    if (own->checksum && facts->checksum && own->checksum != facts->checksum)
        return err_set(
            "the vocabulary of '%s' differs from that of the sources before it (checksum "
            "%016llx, not %016llx)",
            b->blend->paths[i], (unsigned long long)own->checksum,
            (unsigned long long)facts->checksum);
    all->count += one->count;
    all->tokens += one->tokens;
    all->epoch += samples_epoch(one);
    all->most = one->most > all->most ? one->most : all->most;
    facts->vocabulary = own->vocabulary > facts->vocabulary ? own->vocabulary : facts->vocabulary;
    facts->checksum = facts->checksum ? facts->checksum : own->checksum;
    facts->content += own->content;
    if (!facts->tokenizers.count)
        facts->end_of_text = own->end_of_text;
    for (size_t k = 0; k < own->tokenizers.count; k++)
        file_names_add(&facts->tokenizers, own->tokenizers.names[k]);
    return 0;
}

static uint64_t hash_blend(const struct blend_samples *b)
{
    uint64_t hash = hash_bytes(b->blend->weights, b->blend->count * sizeof *b->blend->weights);
    for (size_t i = 0; i < b->blend->count; i++) {
        const uint64_t both[] = { hash, b->sources[i]->count };
        hash = hash_bytes(both, sizeof both);
    }
    return hash;
}

/* Opens the sources. The first decides about lengths that are not given. */
static int open_sources(struct blend_samples *b, samples_open *open, const struct samples_config *c,
                        const char *what)
{
    struct samples_config same = *c;
    for (size_t i = 0; i < b->blend->count; i++) {
        b->sources[i] = open_source(b, i, open, &same, what);
        if (!b->sources[i] || add_source(b, i) < 0)
            return -1;
        same.T = b->sources[0]->T;
        same.mask_tokens = b->sources[0]->mask_tokens;
    }
    b->samples.kind = b->sources[0]->kind;
    b->samples.T = same.T;
    b->samples.mask_tokens = same.mask_tokens;
    b->samples.blend = hash_blend(b);
    return 0;
}

struct samples *samples_open_blend(samples_open *open, const struct samples_config *c,
                                   const struct opt_list *paths, const char *what)
{
    struct blend_samples *b = mem_zalloc(1, sizeof *b);
    b->blend = mem_zalloc(1, sizeof *b->blend);
    b->samples = (struct samples){
        .read = read_sample, .draw = draw, .describe = describe, .close = close_blend
    };
    int blends = blend_parse(b->blend, paths->items, paths->count);
    b->sources = mem_zalloc(b->blend->count, sizeof *b->sources);
    if (blends > 0 && open_sources(b, open, c, what) == 0)
        return &b->samples;
    samples_close(&b->samples);
    return blends ? NULL : open(c, paths, what);
}
