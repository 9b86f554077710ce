/*
 * generator.h - generates text: takes a prompt and returns tokens one by one.
 *
 *     generator_load(&g, "model/", NULL, "cpu", threads);
 *     generator_prompt(&g, "The Moon is", 11);           runs the prompt through the model
 *     generation_begin(&g, &one, key);                   any number of times for one prompt
 *     while ((more = generation_step(&g, &one)) > 0)
 *         ... text_news(&one.text, &n) ...
 *     ... text_news once more; one.finish is the reason for the end ...
 *
 * The generated text depends only on the model, the prompt, the sampler, the limits and the key.
 */
#ifndef TEXTMILL_GENERATE_GENERATOR_H
#define TEXTMILL_GENERATE_GENERATOR_H

#include <stdint.h>

#include "generate/cache.h"
#include "generate/logprobs.h"
#include "generate/sample.h"
#include "generate/text.h"
#include "model/parameters.h"
#include "tokenizer/tokenizer.h"

struct generator {
    struct sampler sampler;   /* its parameters are set by the caller */
    int64_t length;           /* maximal number of tokens to generate */
    const char *const *stops; /* texts that end a generation, borrowed; none is empty */
    size_t stop_count;
    int begin; /* 1: the tokens that the vocabulary puts before a text are put before the prompt */
    int slide; /* 1: continue when the model's positions are used up, see generation_step */
    int special;          /* 1: names of special tokens in a prompt are encoded as these tokens */
    int64_t alternatives; /* log probabilities kept per token, besides its own; 0: none */

    struct tokenizer *tokenizer;
    struct encoder *encoder;
    struct ops *ops;
    struct model model;
    struct parameters parameters;
    struct cache cache;

    struct cache saved; /* the keys and values of saved_ids (prompt_cache.h); zeroed: none */
    struct ids saved_ids;

    struct ids prompt;
    size_t unseen; /* number of tokens at the prompt's beginning that the model no longer sees */
    float *raw;    /* logits before they are changed, [V] */
    float *prompt_logits; /* logits for the token after the prompt, [V] */
    double prompt_seconds;
    int prompt_lost; /* 1: the cache no longer holds the prompt */
};

/* Loads the model folder `dir`, and the tokenizer from `vocab` or, if that is NULL, from `dir`.
 * `weights` is the type of the stored weights (parameters.h). Members that the caller sets are not
 * changed. */
int generator_load(struct generator *g, const char *dir, const char *vocab, const char *device,
                   int threads, enum ops_type weights);
void generator_release(struct generator *g);

/* Runs a prompt through the model. An empty prompt is replaced by the end-of-text token. Returns
 * -1 if the prompt has more tokens than the model has positions; with `slide` the model then sees
 * the tokens that it would see had it generated the prompt (generation_step). */
int generator_prompt(struct generator *g, const char *text, size_t n);

/* Returns the number of ids that can be chosen: the tokenizer's size. A model may have more ids,
 * because its vocabulary was padded to a round number. */
int64_t generator_choices(const struct generator *g);

enum finish {
    FINISH_NOT,         /* not finished */
    FINISH_LENGTH,      /* the maximal number of tokens was reached */
    FINISH_STOP,        /* a stop text was generated */
    FINISH_END_OF_TEXT, /* the end-of-text token was generated */
    FINISH_POSITIONS,   /* the model's positions are used up */
    FINISH_INTERRUPT,   /* the caller stopped the generation and set this value */
};

struct generation {
    struct ids ids; /* tokens of the prompt, then the generated tokens */
    struct text text;
    struct rng rng;
    enum finish finish;
    float *logits; /* logits for the next token, owned by the cache; NULL: not computed yet */

    /* If g->alternatives > 0: a row of alternatives + 1 entries per generated token: the token
     * itself, then the most probable tokens. */
    struct logprob *logprobs;
    size_t logprob_count, logprob_cap;
};

/* Begins a generation after the prompt. *one is zeroed or was used before. `key` selects the
 * sequence of random numbers. */
void generation_begin(struct generator *g, struct generation *one, uint64_t key);
void generation_release(struct generation *one);

/* Generates the next token. Returns 1, 0 if it was the last one, or -1. With `slide`, a text that
 * has used up the model's positions continues as if it began with its last tokens, half as many as
 * the model has positions. */
int generation_step(struct generator *g, struct generation *one);

/* Returns "length", "stop", "end-of-text", "positions" or "interrupt". */
const char *finish_name(enum finish finish);

#endif
