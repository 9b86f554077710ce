/*
 * wiki.h - perplexity of a text by one of three published rules.
 *
 * Each rule says how the text is prepared, which windows the model sees and what the sum of -log p
 * is divided by. A window of `length` inputs is all that the model sees of the text.
 *
 * megatron  Megatron-LM's zero-shot evaluation, which published GPT-2 figures use. The file is one
 *           text of n tokens, of which the first has nothing before it: n-1 targets. Windows begin
 *           every `stride` tokens. The first scores all its targets, each later one its last
 *           `stride`: every target is scored once.
 *
 *     loss                = sum of -log p / (n - 1)                         nats a token
 *     token_ratio         = (n - 1) / (words - 1)
 *     perplexity          = exp(min(20, loss))
 *     adjusted_perplexity = exp(min(20, loss * token_ratio))                a word
 *     words: pieces of the file, stripped and split at single spaces; a line end is no word end
 *
 * strided   The guide "Perplexity of fixed-length models" of Hugging Face's transformers. A window
 *           has `length` tokens, so length-1 targets, and begins `stride` tokens after the one
 *           before it. A window whose end lies t tokens behind the end of the one before it has the
 *           weight t-1, whether it scores t-1 targets (without overlap) or t:
 *
 *     loss = sum over windows of (t - 1) * mean of -log p / sum of (t - 1);  perplexity = exp(loss)
 *
 * words     lm-evaluation-harness, task wikitext. The file is cut into pages. Each has a start
 *           token before it and all its tokens as targets. Windows take `length` targets each; the
 *           last one reaches back to be full, and scores only what is new.
 *
 *     word_perplexity = exp(sum of -log p / words);  words: pieces of a page between white space
 *     byte_perplexity = exp(sum of -log p / bytes)
 *
 * All: bits_per_byte = sum of -log2 p / bytes. Words and bytes are those of the file as it is,
 * before detokenization, so that models with different vocabularies compare.
 */
#ifndef TEXTMILL_EVAL_WIKI_H
#define TEXTMILL_EVAL_WIKI_H

#include <stdint.h>

#include "eval/score.h"
#include "tokenizer/tokenizer.h"

#define WIKI_RULE_WORDS "megatron|strided|words"
enum wiki_rule { WIKI_MEGATRON, WIKI_STRIDED, WIKI_WORDS };

/* How a text is prepared. AUTO: WIKI, and by the rule `strided` LINES. LINES: as Hugging Face's
 * data set has its rows and the guide joins them: an empty line becomes two line ends, another one
 * is followed by two more. PTB: the Penn Treebank's rules. */
#define WIKI_DETOKENIZER_WORDS "auto|wiki|ptb|lines|none"
enum wiki_detokenizer { WIKI_AUTO, WIKI_WIKI, WIKI_PTB, WIKI_LINES, WIKI_NONE };

/* A part of the text that is scored by itself: ids[begin..end) with its start token, if it has
 * one. */
struct wiki_page {
    size_t begin, end;
    uint64_t bytes;
    double nll; /* nats; set by wiki_score */
};

/* A file in tokens, and what was counted on the way. */
struct wiki_text {
    struct ids ids;
    struct wiki_page *pages;
    size_t count, cap;
    uint64_t tokens, bytes, words; /* tokens: without start tokens */
};

/* Reads a file. The rule `words` with the detokenizer WIKI makes pages: each begins at a line
 * " = Title = ". Otherwise the file is one page. -1 when there is nothing to score. */
int wiki_read(struct wiki_text *text, const char *path, enum wiki_rule rule,
              enum wiki_detokenizer detokenizer, const struct tokenizer *t, struct encoder *e);
void wiki_release(struct wiki_text *text);
double wiki_token_ratio(const struct wiki_text *text);

struct wiki_score {
    uint64_t scored; /* targets */
    double weight;   /* of all windows: the targets, but by the rule `strided` */
    double nll;      /* nats, of all windows by their weight */
    uint64_t right;  /* targets that are the first choice */
    double squares;  /* sum of the targets' losses squared */
    double losses;   /* and of these losses, without weights */
};

/* length: inputs a window, at most the model's positions; at least 2 by the rule `strided`. stride:
 * 1 to length; the rule `words` has none. `progress` is called with the targets scored so far. */
int wiki_score(struct wiki_score *score, struct scorer *s, struct wiki_text *text,
               enum wiki_rule rule, int64_t length, int64_t stride,
               void (*progress)(uint64_t done));

/* Standard error of the bits per byte, pages being drawn at random: that of a ratio of sums. 0 of
 * fewer than two pages. */
double wiki_bits_error(const struct wiki_text *text);

/* Pieces of s[0..n) between single spaces, white space at both ends dropped: in Python
 * len(text.strip().split(" ")); and len(re.split(r"\s+", text)). */
uint64_t wiki_words(const char *s, size_t n);
uint64_t wiki_pieces(const char *s, size_t n);

#endif
