#include "tfrecord/layouts/sentencemap.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/err.h"
#include "common/mem.h"
#include "tfrecord/formats/npy.h"
#include "tfrecord/formats/pyrandom.h"

enum { LONG_SENTENCE = 512 }; /* tokens */

struct sample {
    uint32_t first, end, target;
};

struct samples {
    struct sample *list;
    uint64_t count, cap;
};

/* ---- mt19937_64 --------------------------------------------------------------------------- */

enum { N = 312, M = 156 };

struct twister64 {
    uint64_t state[N];
    int at;
};

static void seed64(struct twister64 *r, uint64_t seed)
{
    r->state[0] = seed;
    for (uint64_t i = 1; i < N; i++)
        r->state[i] = UINT64_C(6364136223846793005) * (r->state[i - 1] ^ r->state[i - 1] >> 62) + i;
    r->at = N;
}

static void next_state(struct twister64 *r)
{
    uint64_t *s = r->state;
    for (int i = 0; i < N; i++) {
        uint64_t y = (s[i] & UINT64_C(0xFFFFFFFF80000000)) | (s[(i + 1) % N] & 0x7FFFFFFF);
        s[i] = s[(i + M) % N] ^ y >> 1 ^ (-(y & 1) & UINT64_C(0xB5026F5AA96619E9));
    }
    r->at = 0;
}

static uint64_t draw64(struct twister64 *r)
{
    if (r->at == N)
        next_state(r);
    uint64_t y = r->state[r->at++];
    y ^= y >> 29 & UINT64_C(0x5555555555555555);
    y ^= y << 17 & UINT64_C(0x71D67FFFEDA60000);
    y ^= y << 37 & UINT64_C(0xFFF7EEE000000000);
    return y ^ y >> 43;
}

/* ---- samples ------------------------------------------------------------------------------ */

static uint32_t draw_target(const struct sentencemap *x, struct pyrandom *r)
{
    if (!(x->short_sequence > 0))
        return x->length;
    uint32_t drawn = pyrandom_u32(r), ratio = (uint32_t)round(1 / x->short_sequence);
    return drawn % ratio ? x->length : 2 + drawn % (x->length - 1);
}

static uint32_t tokens_of(const struct megatron *m, uint64_t sentence)
{
    uint64_t first;
    return megatron_sequence(m, sentence, &first);
}

static int has_long_sentence(const struct megatron *m, uint64_t first, uint64_t end)
{
    for (uint64_t i = first; i < end && end - first > 1; i++)
        if (tokens_of(m, i) > LONG_SENTENCE)
            return 1;
    return 0;
}

static void add_document(const struct sentencemap *x, const struct megatron *m, uint64_t document,
                         struct pyrandom *r, struct samples *out)
{
    uint64_t first = megatron_document(m, document), end = megatron_document(m, document + 1);
    uint64_t tokens = 0;
    if (end - first < x->min_sentences || has_long_sentence(m, first, end))
        return;
    uint32_t target = draw_target(x, r);
    for (uint64_t i = first; i < end; i++) {
        const uint64_t left = end - i - 1;
        tokens += tokens_of(m, i);
        if (left && (tokens < target || left < 2 || i + 1 - first < x->min_sentences))
            continue;
        mem_grow(out->list, out->cap, out->count + 1);
        out->list[out->count++] = (struct sample){ (uint32_t)first, (uint32_t)(i + 1), target };
        target = draw_target(x, r);
        first = i + 1;
        tokens = 0;
    }
}

static int add_epochs(struct sentencemap *x, const struct megatron *m, struct samples *out)
{
    struct pyrandom r;
    uint64_t epochs = 0;
    pyrandom_seed_numpy(&r, x->seed);
    for (; x->samples ? out->count < x->samples : epochs < x->epochs; epochs++) {
        for (uint64_t d = x->first; d < x->end; d++)
            add_document(x, m, d, &r, out);
        if (!out->count)
            return err_set("%s.idx: no document of %" PRIu64 " to %" PRIu64
                           " has %u sentences or more, none of them with more than %d tokens",
                           m->prefix, x->first, x->end, x->min_sentences, LONG_SENTENCE);
        if (out->count > UINT32_MAX)
            return err_set("%s.idx: %" PRIu64 " samples are too many", m->prefix, out->count);
    }
    x->epochs = epochs;
    x->made = out->count;
    return 0;
}

static void shuffle(struct samples *s, uint32_t seed)
{
    struct twister64 r;
    seed64(&r, (uint64_t)seed + 1);
    for (uint64_t i = s->count; i > 1; i--) {
        uint64_t j = draw64(&r) % i;
        struct sample keep = s->list[i - 1];
        s->list[i - 1] = s->list[j];
        s->list[j] = keep;
    }
}

/* ---- the file ----------------------------------------------------------------------------- */

static int put_samples(const struct samples *s, const char *name)
{
    struct output f = { 0 };
    int result = npy_open(&f, name, "sample_index", NPY_U32, s->count, 3);
    for (uint64_t i = 0; i < s->count && !result; i++)
        if (npy_put(&f, s->list[i].first, NPY_U32) < 0 ||
            npy_put(&f, s->list[i].end, NPY_U32) < 0 || npy_put(&f, s->list[i].target, NPY_U32) < 0)
            result = -1;
    return output_end(&f, result);
}

int sentencemap_write(struct sentencemap *x, const struct megatron *m, const char *name)
{
    struct samples s = { 0 };
    if (m->sequences > UINT32_MAX)
        return err_set("%s.idx: %" PRIu64 " sentences are too many", m->prefix, m->sequences);
    if (x->short_sequence > 0 && 1 / x->short_sequence > INT32_MAX)
        return err_set("a probability of %g is too small", x->short_sequence);
    int result = add_epochs(x, m, &s);
    if (!result) {
        shuffle(&s, x->seed);
        result = put_samples(&s, name);
    }
    free(s.list);
    return result;
}
