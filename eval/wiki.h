/*
 * wiki.h - perplexity of a text by a sliding window, per token and per word.
 *
 * A text of n tokens has n-1 targets (nothing precedes the first token). Windows of `length`
 * inputs start every `stride` tokens. The first scores all its targets, each later one its last
 * `stride`: so every target is scored once, and after the first window with at least
 * length - stride tokens before it.
 *
 *     loss                = sum of -log p / (n - 1)                         nats a token
 *     token_ratio         = (n - 1) / (words - 1)
 *     perplexity          = exp(min(20, loss))
 *     adjusted_perplexity = exp(min(20, loss * token_ratio))                a word
 *     bits_per_byte       = sum of -log2 p / bytes
 *
 * words: pieces of the text as it stands in the file, stripped and split at single spaces, so
 * that a line end is no word end; bytes: of the file. Both are counted before detokenization,
 * which makes scores of models with different vocabularies comparable. The definitions are
 * those of the zero-shot evaluation in Megatron-LM, that published GPT-2 figures use.
 */
#ifndef TEXTMILL_WIKI_H
#define TEXTMILL_WIKI_H

#include <stdint.h>

#include "eval/score.h"
#include "tokenizer/tokenizer.h"

enum wiki_detokenizer { WIKI_WIKI, WIKI_PTB, WIKI_NONE };

/* A file in tokens, and what was counted on the way. */
struct wiki_text {
    struct ids ids;
    uint64_t bytes, words;
};
int wiki_read(struct wiki_text *text, const char *path, enum wiki_detokenizer detokenizer,
              struct encoder *e);
void wiki_release(struct wiki_text *text);
double wiki_token_ratio(const struct wiki_text *text);

struct wiki_score {
    uint64_t targets; /* n - 1 */
    double nll;       /* nats, all targets */
    uint64_t right;   /* targets that are the first choice */
};

/* length: inputs a window, at most the model's positions. stride: 1 to length. `progress` is
 * called with the targets scored so far. */
int wiki_score(struct wiki_score *score, struct scorer *s, const struct wiki_text *text,
               int64_t length, int64_t stride, void (*progress)(uint64_t done));

/* Pieces of s[0..n) between single spaces, white space at both ends dropped: in Python
 * len(text.strip().split(" ")). */
uint64_t wiki_words(const char *s, size_t n);

#endif
