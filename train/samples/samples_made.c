/* Samples of random ids. */

#include "common/base/rng.h"
#include "train/samples/samples.h"

/* They differ from the keys of other uses of the seed. */
enum { KEY_SEQUENCES = 0x67656e, KEY_PAIRS = 0x70616972, KEY_ANSWERS = 0x73717561 };

static int make_sequence(const struct samples *s, uint64_t i, struct sequences *out)
{
    struct rng r = { .key = rng_key(rng_key(rng_key(0, s->seed), KEY_SEQUENCES), i) };
    int64_t row = sequences_add(out);
    for (int64_t t = row * out->T, end = t + out->T; t <= end; t++) {
        out->ids[t] = (uint32_t)rng_below(&r, (uint64_t)s->ids);
        if (t > row * out->T)
            out->labels[t - 1] = (int32_t)out->ids[t];
    }
    return 0;
}

/* Adds to *out a sequence of random tokens, full and with two segments. It is cut into mask_tokens
 * parts of equal length, and each part has one token to predict. Returns 0. */
static int make_pair(const struct samples *s, uint64_t i, struct sequences *out)
{
    struct rng r = { .key = rng_key(rng_key(rng_key(0, s->seed), KEY_PAIRS), i) };
    int64_t row = sequences_add(out), at = row * out->T, T = out->T, M = s->mask_tokens;
    for (int64_t t = 0; t < T; t++) {
        out->ids[at + t] = (uint32_t)rng_below(&r, (uint64_t)s->ids);
        out->segments[at + t] = t >= T / 2;
    }
    for (int64_t m = 0; m < M; m++) {
        int64_t begin = m * T / M, end = (m + 1) * T / M;
        int64_t place = begin + (int64_t)rng_below(&r, (uint64_t)(end - begin));
        out->labels[at + place] = (int32_t)rng_below(&r, (uint64_t)s->ids);
    }
    out->classes[row] = (int32_t)rng_below(&r, 2);
    return 0;
}

/* Adds to *out a sequence of random tokens: a short question, a context that fills the row, and an
 * answer in the context; and a class for both. Returns 0. */
static int make_answer(const struct samples *s, uint64_t i, struct sequences *out)
{
    struct rng r = { .key = rng_key(rng_key(rng_key(0, s->seed), KEY_ANSWERS), i) };
    int64_t row = sequences_add(out), at = row * out->T, context = out->T / 8;
    for (int64_t t = 0; t < out->T; t++) {
        out->ids[at + t] = (uint32_t)rng_below(&r, (uint64_t)s->ids);
        out->segments[at + t] = t >= context;
    }
    out->starts[row] = (int32_t)(context + (int64_t)rng_below(&r, (uint64_t)(out->T - context)));
    out->ends[row] = out->starts[row] +
                     (int32_t)rng_below(&r, (uint64_t)(out->T - out->starts[row]));
    out->classes[row] = (int32_t)rng_below(&r, 2);
    return 0;
}

struct samples *samples_make(const struct samples_config *c, enum samples_made made)
{
    static int (*const makers[])(const struct samples *s, uint64_t i, struct sequences *out) = {
        [MADE_SEQUENCES] = make_sequence, [MADE_PAIRS] = make_pair, [MADE_ANSWERS] = make_answer
    };
    struct samples *s = mem_zalloc(1, sizeof *s);
    *s = (struct samples){ .most = 1,
                           .kind = made == MADE_SEQUENCES ? SEQUENCES_PLAIN : SEQUENCES_ENCODER,
                           .T = c->T,
                           .mask_tokens = c->mask_tokens,
                           .ids = c->vocabulary,
                           .seed = c->seed,
                           .read = makers[made] };
    return s;
}
