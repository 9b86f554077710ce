/*
 * generator.h - a model that writes: a prompt goes in, tokens come out one by one.
 *
 *     generator_load(&g, "model/", NULL, "cpu", threads);
 *     generator_prompt(&g, "The Moon is", 11);           runs the prompt through the model
 *     generation_begin(&g, &one, key);                   any number of times for one prompt
 *     while ((more = generation_step(&g, &one)) > 0)
 *         ... text_news(&one.text, &n) ...
 *     ... text_news once more, one.finish says why it ended ...
 *
 * The text of a generation depends on model, prompt, sampler, limits and key alone.
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
    struct sampler sampler;   /* the caller sets its four numbers */
    int64_t length;           /* tokens to make at most */
    const char *const *stops; /* texts that end a generation, borrowed; none is empty */
    size_t stop_count;
    int begin;   /* 1: the tokens with which the vocabulary begins a text stand before the prompt */
    int slide;   /* 1: go on when the positions are used up, see generation_step */
    int special; /* 1: spellings of special tokens in a prompt are these tokens */
    int64_t alternatives; /* log probabilities are kept of each token and so many others */

    struct tokenizer *tokenizer;
    struct encoder *encoder;
    struct ops *ops;
    struct model model;
    struct parameters parameters;
    struct cache cache;

    struct cache saved; /* the keys and values of these tokens (prompt_cache.h); zeroed: none */
    struct ids saved_ids;

    struct ids prompt;
    size_t unseen;        /* tokens that the prompt begins with and that have slid away */
    float *raw;           /* logits before they are changed, [V] */
    float *prompt_logits; /* of what follows the prompt, [V] */
    double prompt_seconds;
    int prompt_lost; /* the cache has forgotten it */
};

/* Loads the model folder `dir`, and the tokenizer from `vocab` or, if NULL, from `dir`; `weights`
 * as parameters.h has them. The
 * members that the caller sets are left alone. */
int generator_load(struct generator *g, const char *dir, const char *vocab, const char *device,
                   int threads, enum ops_type weights);
void generator_release(struct generator *g);

/* Takes a prompt. One without tokens is the end-of-text token, after which a model begins a text.
 * -1 when it has more tokens than the model has positions; with `slide` the model sees what it
 * would see of them if it had made them (generation_step). */
int generator_prompt(struct generator *g, const char *text, size_t n);

/* Ids from which a next token is chosen are below this. A model may have more ids than its
 * tokenizer, to make their number round. */
int64_t generator_choices(const struct generator *g);

enum finish {
    FINISH_NOT,         /* goes on */
    FINISH_LENGTH,      /* as many tokens as were asked for */
    FINISH_STOP,        /* a stop text */
    FINISH_END_OF_TEXT, /* the model ended the text */
    FINISH_POSITIONS,   /* the model's positions are used up */
    FINISH_INTERRUPT,   /* the caller broke off; set by it */
};

struct generation {
    struct ids ids; /* the prompt's and the new ones */
    struct text text;
    struct rng rng;
    enum finish finish;
    float *logits; /* the cache's, or NULL at first */

    /* With g->alternatives: for each new token one row of alternatives + 1: itself, and the most
     * probable ones. */
    struct logprob *logprobs;
    size_t logprob_count, logprob_cap;
};

/* *one is zeroed or of an earlier use. `key` names the sequence of random numbers. */
void generation_begin(struct generator *g, struct generation *one, uint64_t key);
void generation_release(struct generation *one);

/* Makes the next token: 1, 0 when that was the last, -1. With `slide` a text that has used up the
 * model's positions goes on as if it began with its last tokens, half as many as there are
 * positions. */
int generation_step(struct generator *g, struct generation *one);

/* "length", "stop", "end-of-text", "positions", "interrupt". */
const char *finish_name(enum finish finish);

#endif
