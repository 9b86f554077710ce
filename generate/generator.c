#include "generate/generator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"
#include "common/mem.h"

/* ---- loading ------------------------------------------------------------------------------ */

static int load_model(struct generator *g, const char *dir, const char *device, int threads,
                      enum ops_type weights)
{
    g->ops = ops_open(device, threads);
    if (!g->ops || parameters_load(&g->parameters, &g->model, g->ops, dir, HEAD_NEXT, weights) < 0)
        return -1;
    cache_init(&g->cache, &g->model, g->ops, g->parameters.blocks);
    g->prompt_logits = mem_zalloc((size_t)g->model.config.vocabulary, sizeof *g->prompt_logits);
    g->raw = mem_zalloc((size_t)g->model.config.vocabulary, sizeof *g->raw);
    return 0;
}

int generator_load(struct generator *g, const char *dir, const char *vocab, const char *device,
                   int threads, enum ops_type weights)
{
    const char *from = vocab ? vocab : dir;
    g->tokenizer = tokenizer_load(from);
    if (!g->tokenizer || load_model(g, dir, device, threads, weights) < 0)
        return -1;
    g->encoder = encoder_new(g->tokenizer);
    if (tokenizer_size(g->tokenizer) > g->model.config.vocabulary)
        return err_set(
            "vocabulary and model differ: '%s' has %u tokens, but the model in '%s' has only %lld",
            from, tokenizer_size(g->tokenizer), dir, (long long)g->model.config.vocabulary);
    return 0;
}

void generator_release(struct generator *g)
{
    sampler_release(&g->sampler);
    cache_release(&g->cache);
    cache_release(&g->saved);
    ids_release(&g->saved_ids);
    parameters_release(&g->parameters, &g->model, g->ops);
    if (g->ops)
        ops_free(g->ops);
    if (g->encoder)
        encoder_free(g->encoder);
    if (g->tokenizer)
        tokenizer_free(g->tokenizer);
    ids_release(&g->prompt);
    free(g->prompt_logits);
    free(g->raw);
}

/* ---- the prompt --------------------------------------------------------------------------- */

/* Returns the index of the first token that a model with so many positions still sees after n
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

static int encode_prompt(struct generator *g, const char *text, size_t n)
{
    int64_t end_of_text = tokenizer_end_of_text(g->tokenizer);
    enum tokenizer_special special = g->special ? TOKENIZER_SPECIAL : TOKENIZER_ORDINARY;
    g->prompt.count = 0;
    if (g->begin)
        tokenizer_begin_text(g->tokenizer, &g->prompt);
    if (encoder_encode(g->encoder, text, n, special, &g->prompt) < 0)
        return err_in("prompt");
    if (!g->prompt.count && end_of_text < 0)
        return err_set("the prompt is empty, and the vocabulary has no end-of-text token");
    if (!g->prompt.count)
        ids_add(&g->prompt, (uint32_t)end_of_text);
    if ((int64_t)g->prompt.count > g->model.config.positions && !g->slide)
        return err_set("the prompt has %zu tokens, but the model has only %lld positions (--slide "
                       "drops the oldest)",
                       g->prompt.count, (long long)g->model.config.positions);
    g->unseen = slid_away(g->prompt.count, (size_t)g->model.config.positions,
                          (size_t)kept_positions(g));
    return 0;
}

/* Returns the number of tokens at the prompt's beginning whose keys and values are saved. The
 * prompt's last token is not counted, because it must be run to get its logits. */
static size_t saved_tokens(const struct generator *g)
{
    size_t n = 0;
    while (!g->unseen && n < g->saved_ids.count && n + 1 < g->prompt.count &&
           g->prompt.data[n] == g->saved_ids.data[n])
        n++;
    return n;
}

static float *run_prompt(struct generator *g)
{
    size_t saved = saved_tokens(g), begin = g->unseen + saved;
    cache_truncate(&g->cache, 0);
    if (saved)
        cache_copy(&g->cache, &g->saved, (int64_t)saved);
    return cache_forward(&g->cache, g->prompt.data + begin, (int64_t)(g->prompt.count - begin));
}

/* Makes the cache hold the prompt alone. Runs the prompt again if the cache no longer holds it. */
static void restore_prompt(struct generator *g)
{
    if (g->prompt_lost)
        run_prompt(g);
    g->prompt_lost = 0;
    cache_truncate(&g->cache, (int64_t)(g->prompt.count - g->unseen));
}

int generator_prompt(struct generator *g, const char *text, size_t n)
{
    if (encode_prompt(g, text, n) < 0)
        return -1;
    double began = log_seconds();
    float *logits = run_prompt(g);
    if (!logits)
        return -1;
    memcpy(g->prompt_logits, logits, (size_t)g->model.config.vocabulary * sizeof *logits);
    g->prompt_seconds = log_seconds() - began;
    g->prompt_lost = 0;
    return 0;
}

/* ---- generation --------------------------------------------------------------------------- */

void generation_begin(struct generator *g, struct generation *one, uint64_t key)
{
    generation_release(one);
    one->rng = (struct rng){ .key = key };
    text_init(&one->text, g->stops, g->stop_count);
    for (size_t i = 0; i < g->prompt.count; i++)
        ids_add(&one->ids, g->prompt.data[i]);
    restore_prompt(g);
    memcpy(g->cache.logits, g->prompt_logits,
           (size_t)g->model.config.vocabulary * sizeof *g->prompt_logits);
    one->logits = g->cache.logits;
}

void generation_release(struct generation *one)
{
    ids_release(&one->ids);
    text_release(&one->text);
    free(one->logprobs);
    *one = (struct generation){ 0 };
}

int64_t generator_choices(const struct generator *g)
{
    return tokenizer_size(g->tokenizer);
}

/* Adds the row of log probabilities for the token `id`, which was chosen from the logits g->raw. */
static void keep_logprobs(struct generator *g, struct generation *one, uint32_t id)
{
    int64_t V = g->model.config.vocabulary, n = g->alternatives;
    size_t width = (size_t)n + 1;
    mem_grow(one->logprobs, one->logprob_cap, one->logprob_count + width);
    struct logprob *row = one->logprobs + one->logprob_count;
    double sum = logprobs_sum(g->raw, V);
    row[0] = (struct logprob){ id, g->raw[id] - sum };
    logprobs_top(row + 1, n, g->raw, V, sum);
    one->logprob_count += width;
}

/* Chooses the next token, adds it to the ids and the text, and sets one->finish if it ends the
 * generation. */
static int choose(struct generator *g, struct generation *one)
{
    int64_t V = generator_choices(g);
    if (g->alternatives)
        memcpy(g->raw, one->logits, (size_t)g->model.config.vocabulary * sizeof *g->raw);
    const struct sampler_text text = { one->ids.data, one->ids.count, g->prompt.count };
    uint32_t id = sampler_next(&g->sampler, one->logits, V, &text, &one->rng);
    if (!isfinite(one->logits[id]))
        return err_set(
            "the model's logits are %f: its weights are damaged or its training diverged",
            one->logits[id]);
    ids_add(&one->ids, id);
    if (g->alternatives)
        keep_logprobs(g, one, id);
    if (id == tokenizer_end_of_text(g->tokenizer)) {
        one->finish = FINISH_END_OF_TEXT;
        return 0;
    }
    size_t n;
    const char *bytes = tokenizer_token(g->tokenizer, id, &n);
    if (bytes)
        text_add(&one->text, bytes, n);
    if (one->text.stopped)
        one->finish = FINISH_STOP;
    else if ((int64_t)(one->ids.count - g->prompt.count) == g->length)
        one->finish = FINISH_LENGTH;
    else if (g->cache.past.used == g->model.config.positions && !g->slide)
        one->finish = FINISH_POSITIONS;
    return 0;
}

/* Runs the last token and returns the logits for the next one. If the positions are used up, runs
 * the last tokens again in an empty cache. */
static float *next_logits(struct generator *g, const struct generation *one)
{
    int64_t n = 1;
    if (g->cache.past.used == g->model.config.positions) { /* sliding */
        n = kept_positions(g);
        cache_truncate(&g->cache, 0);
        g->prompt_lost = 1;
    }
    return cache_forward(&g->cache, one->ids.data + one->ids.count - n, n);
}

int generation_step(struct generator *g, struct generation *one)
{
    if (!one->logits)
        one->logits = next_logits(g, one);
    if (!one->logits || choose(g, one) < 0)
        return -1;
    one->logits = NULL;
    if (!one->finish)
        return 1;
    text_end(&one->text);
    return 0;
}

const char *finish_name(enum finish finish)
{
    static const char *const names[] = { "",          "length",   "stop", "end-of-text",
                                         "positions", "interrupt" };
    return names[finish];
}
