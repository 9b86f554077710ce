/*
 * generator.h - generates texts: takes a prompt and returns tokens one by one, of several texts at
 * a time.
 *
 *     generator_load(&g, "model/", NULL, "cpu", threads, OPS_F32);
 *     generator_prompt(&g, &start, "The Moon is", 11);     runs the prompt through the model
 *     generation_begin(&g, &one, &start, key, 1);          one or several texts for each prompt
 *     while (!one.finish && generator_step(&g, texts, 1) == 0)
 *         ... text_news(&one.text, &n) ...
 *     ... text_news once more; one.finish is the reason for the end ...
 *
 * A text depends only on the model, the prompt, the sampler, the limits and the key. On the CPU it
 * does not depend on the texts that are generated with it.
 */
#pragma once

#include "common/base/order.h"
#include "generate/cache.h"
#include "generate/sample.h"
#include "generate/text.h"
#include "model/folder/parameters.h"
#include "tokenizer/tokenizer.h"

/* What a thread needs to choose a token. */
struct chooser {
    struct sampler sampler; /* the generator's parameters, with memory of its own */
    float *raw;             /* logits before they are changed, [V] */
};

struct generator {
    struct sampler sampler;   /* its parameters are set by the caller */
    int64_t length;           /* maximal number of tokens to generate */
    const char *const *stops; /* texts that end a generation, borrowed; none is empty */
    size_t stop_count;
    int verify; /* 1: the checksums of the weights are checked when they are loaded */
    int begin;  /* 1: the tokens that the vocabulary puts before a text are put before the prompt */
    int slide;  /* 1: continue when the model's positions are used up, see generator_step */
    int special;          /* 1: names of special tokens in a prompt are encoded as these tokens */
    int64_t alternatives; /* log probabilities kept per token, besides its own; 0: none */
    enum ops_type cached; /* type of the keys and values that are kept: F32 or BF16 */

    struct tokenizer *tokenizer;
    uint32_t known; /* Only ids below it are chosen: tokenizer and model have them. One of the two
                     * may have more, such as rows that pad the model to a round number. */
    struct encoder *encoder;
    struct ops *ops;
    struct model model;
    struct parameters parameters;
    struct decoder decoder;

    struct ids ends; /* tokens that end a text: the tokenizer's, and those that the model names */
    int borrowed; /* 1: tokenizer, ops and the model's tensors are the caller's (generator_open) */
    struct cache saved; /* the keys and values of saved_ids (prompt_cache.h); zeroed: none */
    struct ids saved_ids;

    struct chooser *choosers; /* one for each thread */

    /* the members of a step: the texts that get a token, their caches and last tokens */
    struct generation **members;
    struct cache **caches;
    uint32_t *last;
    size_t members_cap, caches_cap, last_cap;
};

/* Loads the model folder or GGUF file `dir`, and the tokenizer from `vocab` or, if that is NULL,
 * from `dir`. `device` is as for ops_open; `weights` is the type of the stored weights
 * (parameters.h). Members that the caller sets are not changed. *g must not move in memory
 * afterwards. Returns 0, or -1 with an error. */
int generator_load(struct generator *g, const char *dir, const char *vocab, const char *device,
                   int threads, enum ops_type weights);
/* Prepares *g for a model in memory, whose tokenizer has no ids beyond the model's vocabulary.
 * `blocks` are the arrays of its parameters [m->tensors.blocks]. All but *g is borrowed. */
void generator_open(struct generator *g, struct tokenizer *t, struct ops *o, const struct model *m,
                    const struct ops_array *blocks);
void generator_release(struct generator *g);

/* A prompt that the model has read, where texts begin. */
struct start {
    struct ids ids;     /* its tokens */
    int blank;          /* 1: its text is empty */
    size_t unseen;      /* number of tokens at its beginning that the model no longer sees */
    struct cache cache; /* keys and values of the other tokens */
    float *logits;      /* logits for the token after the prompt, [V] */
    double seconds;     /* time to read the prompt */
};

/* Runs the prompt text[0..n) through the model and sets *start, which is zeroed or was used before.
 * If there is no token, not even one that begins a text, the end-of-text token is the prompt.
 * Returns 0, or -1 with an error, also if the prompt has more tokens than the model has positions
 * and `slide` is not set. With `slide` the model then sees only the last tokens, as if it had
 * generated the prompt itself (generator_step). */
int generator_prompt(struct generator *g, struct start *start, const char *text, size_t n);
void start_release(struct start *start);

/* Returns the sampler of a thread, with the generator's parameters. */
struct sampler *generator_sampler(struct generator *g, int thread);

enum finish {
    FINISH_NOT,         /* not finished */
    FINISH_LENGTH,      /* the maximal number of tokens was reached */
    FINISH_STOP,        /* a stop text was generated */
    FINISH_END_OF_TEXT, /* the end-of-text token was generated */
    FINISH_POSITIONS,   /* the model's positions are used up */
    FINISH_INTERRUPT,   /* the caller stopped the generation */
};

struct generation {
    struct ids ids; /* tokens of the prompt, then the generated tokens */
    size_t prompt;  /* number of the prompt's tokens */
    int blank;      /* 1: the prompt's text is empty */
    struct text text;
    struct rng rng;
    enum finish finish;
    struct cache cache; /* keys and values of all tokens but the last; empty when finished */

    /* If g->alternatives > 0: a row of alternatives + 1 entries per generated token: the token
     * itself, then the most probable tokens. An entry's rank is its log probability. */
    struct order_rank *logprobs;
    size_t logprob_count, logprob_cap;
};

/* Begins a text after the prompt `start` and chooses its first token. *one is zeroed or was used
 * before. `key` selects the sequence of random numbers. last 1: no other text will begin with this
 * prompt, so *one takes over its keys and values instead of copying them. Returns 0, or -1 with an
 * error. */
int generation_begin(struct generator *g, struct generation *one, struct start *start, uint64_t key,
                     int last);
void generation_release(struct generation *one);

/* Generates the next token of each of n unfinished texts. Returns 0, or -1 with an error. With
 * `slide`, a text that has used up the model's positions continues as if it began with its last
 * tokens, half as many as the model has positions. */
int generator_step(struct generator *g, struct generation *const *texts, int64_t n);

/* Adds the token `id`, which is the last one of one->ids, to the text unless it ends the text.
 * Returns why it ends the generation, or FINISH_NOT if it does not. */
enum finish generation_add(const struct generator *g, struct generation *one, uint32_t id);

/* Makes *to, which is zeroed or was used before, a copy of a text, but for its keys and values, its
 * log probabilities and random numbers. */
void generation_copy(struct generation *to, const struct generation *from);

/* Ends a text. */
void generation_end(struct generation *one, enum finish reason);

/* Returns "length", "stop", "end-of-text", "positions" or "interrupt". */
const char *finish_name(enum finish finish);
