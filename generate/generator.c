#include "generate/generator.h"

#include <math.h>

#include "common/base/least.h"
#include "common/base/log.h"
#include "model/folder/folder.h"

/* ---- loading ------------------------------------------------------------------------------ */

/* Prepares the rest of a generator, which already has tokenizer, back end and model. */
static void begin(struct generator *g, const struct ops_array *blocks)
{
    /* LongRoPE has other frequencies for a text longer than `original`, for its first tokens, too:
     * all cached keys would have to be computed again. So no text gets longer. */
    struct model_config *c = &g->model.config;
    if (c->rope_longer.divided && c->rope_longer.original < (double)c->positions)
        c->positions = (int64_t)c->rope_longer.original;
    g->known = (uint32_t)smaller(tokenizer_size(g->tokenizer), c->vocabulary);
    decoder_init(&g->decoder, &g->model, g->ops, blocks, g->cached);
    g->choosers = mem_zalloc((size_t)ops_threads(g->ops), sizeof *g->choosers);
    g->encoder = encoder_new(g->tokenizer);
    if (tokenizer_end_of_text(g->tokenizer) >= 0)
        ids_add(&g->ends, (uint32_t)tokenizer_end_of_text(g->tokenizer));
}

/* Returns what the token adds to a text, and sets *n to its length in bytes; NULL: nothing. `first`
 * 1: no text is before it, so a space that the vocabulary puts before a text's first word is left
 * out. */
static const char *text_of(const struct generator *g, uint32_t id, int first, size_t *n)
{
    SCOPED(buf) alone = BUF_INIT;
    const char *text = tokenizer_text(g->tokenizer, id, n);
    if (text && first && !tokenizer_decode(g->tokenizer, &id, 1, 0, &alone) && alone.len < *n &&
        !memcmp(text + (*n - alone.len), alone.data, alone.len)) {
        text += *n - alone.len;
        *n = alone.len;
    }
    return text;
}

/* Adds the tokens that end a text by their names, as llama.cpp does: GGUF has few keys for them. */
static void add_named_ends(struct generator *g)
{
    static const char *const names[] = { "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>",
                                         "<|eom_id|>",    "<|im_end|>",      "<|end|>" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const int64_t id = tokenizer_find(g->tokenizer, names[i], strlen(names[i]));
        if (id >= 0)
            ids_add(&g->ends, (uint32_t)id);
    }
}

int generator_load(struct generator *g, const char *dir, const char *vocab, const char *device,
                   int threads, enum ops_type weights)
{
    const char *from = vocab ? vocab : dir;
    struct model_config c; /* read before the vocabulary: no other one helps an unknown model */
    if (folder_check(dir) < 0 || folder_read_config(&c, HEAD_NEXT, dir) < 0)
        return -1;
    g->tokenizer = tokenizer_load(from);
    if (!g->tokenizer || (g->verify && folder_verify(dir, 0, 1) < 0) ||
        !(g->ops = ops_open(device, threads)) ||
        parameters_load(&g->parameters, &g->model, g->ops, dir, HEAD_NEXT, weights) < 0)
        return -1;
    begin(g, g->parameters.blocks);
    if (tokenizer_check_rows(g->tokenizer, from, dir, g->model.config.vocabulary, 0) < 0)
        return -1;
    if (gguf_is(dir))
        add_named_ends(g);
    return folder_ends(&g->ends, NULL, dir);
}

void generator_open(struct generator *g, struct tokenizer *t, struct ops *o, const struct model *m,
                    const struct ops_array *blocks)
{
    g->tokenizer = t;
    g->ops = o;
    g->model = *m;
    g->borrowed = 1;
    begin(g, blocks);
}

void generator_release(struct generator *g)
{
    for (int i = 0; g->choosers && i < ops_threads(g->ops); i++) {
        sampler_release(&g->choosers[i].sampler);
        free(g->choosers[i].raw);
    }
    free(g->choosers);
    sampler_release(&g->sampler);
    cache_release(&g->saved);
    ids_release(&g->saved_ids);
    ids_release(&g->ends);
    decoder_release(&g->decoder);
    encoder_free(g->encoder);
    if (!g->borrowed) {
        parameters_release(&g->parameters, &g->model, g->ops);
        ops_free(g->ops);
        tokenizer_free(g->tokenizer);
    }
    free(g->members);
    free(g->caches);
    free(g->last);
}

/* ---- the prompt --------------------------------------------------------------------------- */

/* Returns the index of the first token that a model with `positions` positions still sees after n
 * tokens came one by one. Each time the positions are used up, only the last `kept` tokens stay. */
static size_t slid_away(size_t n, size_t positions, size_t kept)
{
    size_t begin = 0;
    while (n - begin > positions)
        begin += positions + 1 - kept;
    return begin;
}

static int64_t kept_positions(const struct generator *g)
{
    int64_t positions = g->model.config.positions;
    return positions > 1 ? positions / 2 : 1;
}

static int encode_prompt(struct generator *g, struct start *start, const char *text, size_t n)
{
    int64_t first = (g->begin ? tokenizer_begin_of_text : tokenizer_end_of_text)(g->tokenizer);
    enum tokenizer_special special = g->special ? TOKENIZER_SPECIAL : TOKENIZER_ORDINARY;
    struct ids *ids = &start->ids;
    ids->count = 0;
    start->blank = !n;
    if (g->begin)
        tokenizer_begin_text(g->tokenizer, ids);
    if (encoder_encode(g->encoder, text, n, special, ids) < 0)
        return err_in("prompt");
    if (!ids->count && first < 0)
        return err_set("the prompt is empty, and the vocabulary has no end-of-text token");
    if (!ids->count)
        ids_add(ids, (uint32_t)first);
    if ((int64_t)ids->count > g->model.config.positions && !g->slide)
        return err_set("the prompt has %zu tokens, but the model has only %lld positions (--slide "
                       "drops the oldest)",
                       ids->count, (long long)g->model.config.positions);
    start->unseen = slid_away(ids->count, (size_t)g->model.config.positions,
                              (size_t)kept_positions(g));
    return 0;
}

static int run_prompt(struct generator *g, struct start *start)
{
    const size_t bytes = (size_t)g->model.config.vocabulary * sizeof *start->logits;
    /* The tokens at the prompt's beginning whose keys and values are saved. The last one is not
     * counted, because it must be run to get its logits. */
    size_t saved = 0;
    while (!start->unseen && saved + 1 < start->ids.count && saved < g->saved_ids.count &&
           start->ids.data[saved] == g->saved_ids.data[saved])
        saved++;
    const size_t begin = start->unseen + saved;
    if (!start->cache.d)
        cache_init(&start->cache, &g->decoder);
    cache_truncate(&start->cache, 0);
    if (saved)
        cache_copy(&start->cache, &g->saved, (int64_t)saved);
    float *logits = cache_forward(&start->cache, start->ids.data + begin,
                                  (int64_t)(start->ids.count - begin));
    if (!logits)
        return -1;
    start->logits = mem_resize(start->logits, bytes, 1);
    memcpy(start->logits, logits, bytes);
    return 0;
}

int generator_prompt(struct generator *g, struct start *start, const char *text, size_t n)
{
    double began = log_seconds();
    if (encode_prompt(g, start, text, n) < 0 || run_prompt(g, start) < 0)
        return -1;
    start->seconds = log_seconds() - began;
    return 0;
}

void start_release(struct start *start)
{
    ids_release(&start->ids);
    cache_release(&start->cache);
    free(start->logits);
    *start = (struct start){ 0 };
}

/* ---- the choice of a token ---------------------------------------------------------------- */

struct sampler *generator_sampler(struct generator *g, int thread)
{
    struct sampler *own = &g->choosers[thread].sampler;
    if (!own->size) /* it has no memory yet, so it was not used */
        *own = g->sampler;
    return own;
}

/* Adds the row of log probabilities for the token `id`, which was chosen from the logits raw[V]. */
static void keep_logprobs(struct generator *g, struct generation *one, const float *raw,
                          uint32_t id)
{
    int64_t V = g->model.config.vocabulary, n = g->alternatives;
    size_t width = (size_t)n + 1;
    mem_grow(one->logprobs, one->logprob_cap, one->logprob_count + width);
    struct order_rank *row = one->logprobs + one->logprob_count;
    double sum = logprobs_sum(raw, V);
    row[0] = (struct order_rank){ raw[id] - sum, id };
    order_top(row + 1, width - 1, raw, g->known, sum);
    one->logprob_count += width;
}

/* Texts that get their next token, and logits[V] of each text, which the choice changes. */
struct choice {
    struct generator *g;
    struct generation *const *texts;
    float *logits;
    int64_t V;
};

static void choose_token(void *ctx, int64_t i, int thread)
{
    const struct choice *c = ctx;
    struct chooser *own = &c->g->choosers[thread];
    struct generation *one = c->texts[i];
    const struct sampler_text text = { one->ids.data, one->ids.count, one->prompt };
    const size_t bytes = (size_t)c->V * sizeof *c->logits;
    float *logits = c->logits + i * c->V;
    if (c->g->alternatives)
        own->raw = memcpy(mem_resize(own->raw, bytes, 1), logits, bytes);
    uint32_t id = sampler_next(generator_sampler(c->g, thread), logits, c->g->known, &text,
                               &one->rng);
    if (c->g->alternatives)
        keep_logprobs(c->g, one, own->raw, id);
    ids_add(&one->ids, id);
}

enum finish generation_add(const struct generator *g, struct generation *one, uint32_t id)
{
    size_t n;
    for (size_t i = 0; i < g->ends.count; i++)
        if (g->ends.data[i] == id)
            return FINISH_END_OF_TEXT;
    const int first = one->blank && one->ids.count == one->prompt + 1;
    const char *bytes = text_of(g, id, first, &n);
    if (bytes)
        text_add(&one->text, bytes, n);
    if (one->text.stopped)
        return FINISH_STOP;
    if ((int64_t)(one->ids.count - one->prompt) == g->length)
        return FINISH_LENGTH;
    if (one->cache.past.used == g->model.config.positions && !g->slide)
        return FINISH_POSITIONS;
    return FINISH_NOT;
}

void generation_copy(struct generation *to, const struct generation *from)
{
    to->ids.count = 0;
    ids_append(&to->ids, from->ids.data, from->ids.count);
    text_copy(&to->text, &from->text);
    to->prompt = from->prompt;
    to->blank = from->blank;
}

void generation_end(struct generation *one, enum finish reason)
{
    one->finish = reason;
    text_end(&one->text);
    cache_release(&one->cache);
}

/* Chooses the next tokens of n texts by their logits[n,V], which it changes. Ends a text if its
 * token is the last one. */
static int choose(struct generator *g, struct generation *const *texts, int64_t n, float *logits)
{
    struct choice c = { g, texts, logits, g->model.config.vocabulary };
    ops_each(g->ops, n, choose_token, &c);
    for (int64_t i = 0; i < n; i++) {
        const uint32_t id = texts[i]->ids.data[texts[i]->ids.count - 1];
        for (const float *l = logits + i * c.V; l < logits + (i + 1) * c.V; l++)
            if (!isfinite(*l))
                return err_set("the model's logits are %f: its weights are damaged or its training "
                               "diverged",
                               *l);
        enum finish reason = generation_add(g, texts[i], id);
        if (reason)
            generation_end(texts[i], reason);
    }
    return 0;
}

/* ---- generation --------------------------------------------------------------------------- */

int generation_begin(struct generator *g, struct generation *one, struct start *start, uint64_t key,
                     int last)
{
    const size_t bytes = (size_t)g->model.config.vocabulary * sizeof *start->logits;
    generation_release(one);
    one->rng = (struct rng){ .key = key };
    text_init(&one->text, g->stops, g->stop_count);
    ids_append(&one->ids, start->ids.data, start->ids.count);
    one->prompt = start->ids.count;
    one->blank = start->blank;
    if (last) {
        one->cache = start->cache;
        start->cache = (struct cache){ 0 };
    } else {
        cache_init(&one->cache, &g->decoder);
        cache_copy(&one->cache, &start->cache, start->cache.past.used);
    }
    SCOPED_MEM float *logits = mem_alloc(bytes);
    memcpy(logits, start->logits, bytes);
    return choose(g, &one, 1, logits);
}

void generation_release(struct generation *one)
{
    ids_release(&one->ids);
    text_release(&one->text);
    cache_release(&one->cache);
    free(one->logprobs);
    *one = (struct generation){ 0 };
}

/* Generates the next token of a text that has used up the positions: runs its last tokens again in
 * an empty cache. */
static int slide(struct generator *g, struct generation *one)
{
    const int64_t n = kept_positions(g);
    cache_truncate(&one->cache, 0);
    float *logits = cache_forward(&one->cache, one->ids.data + one->ids.count - n, n);
    return logits ? choose(g, &one, 1, logits) : -1;
}

int generator_step(struct generator *g, struct generation *const *texts, int64_t n)
{
    int64_t members = 0;
    mem_grow(g->members, g->members_cap, (size_t)n);
    mem_grow(g->caches, g->caches_cap, (size_t)n);
    mem_grow(g->last, g->last_cap, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        struct generation *one = texts[i];
        if (one->cache.past.used < g->model.config.positions) {
            g->members[members] = one;
            g->caches[members] = &one->cache;
            g->last[members++] = one->ids.data[one->ids.count - 1];
        } else if (slide(g, one) < 0) {
            return -1;
        }
    }
    float *logits = members ? decoder_step(&g->decoder, g->caches, g->last, members) : NULL;
    if (members && !logits)
        return -1;
    return choose(g, g->members, members, logits);
}

const char *finish_name(enum finish finish)
{
    static const char *const names[] = { "",          "length",   "stop", "end-of-text",
                                         "positions", "interrupt" };
    return names[finish];
}
