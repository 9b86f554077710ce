/*
 * wiki.h - perplexity of a text by one of three published rules.
 *
 * Each rule says how the text is prepared, which windows the model sees and what the sum of -log p
 * is divided by. The model sees only one window of `length` input tokens at a time.
 *
 * megatron  Megatron-LM's zero-shot evaluation, which published GPT-2 figures use. The file is one
 *           text of n tokens. The first has no token before it, so there are n-1 targets. Windows
 *           begin every `stride` tokens. The first window scores all its targets, each later one
 *           its last `stride` targets: every target is scored once.
 *
 *     loss                = sum of -log p / (n - 1)                         nats a token
 *     token_ratio         = (n - 1) / (words - 1)
 *     perplexity          = exp(min(20, loss))
 *     adjusted_perplexity = exp(min(20, loss * token_ratio))                a word
 *     words: pieces of the stripped file between single spaces; line ends do not separate words
 *
 * strided   The guide "Perplexity of fixed-length models" of Hugging Face's transformers. A window
 *           has `length` tokens, so length-1 targets, and begins `stride` tokens after the
 *           previous one. A window that ends t tokens after the end of the previous one has the
 *           weight t-1, whether it scores t-1 targets (without overlap) or t:
 *
 *     loss = sum over windows of (t - 1) * mean of -log p / sum of (t - 1);  perplexity = exp(loss)
 *
 * words     lm-evaluation-harness, task wikitext. The file is split into pages. A start token
 *           is put before each page, and all tokens of the page are targets. Each window has
 *           `length` targets. The last window begins earlier so that it is full, and scores only
 *           the targets that are not scored yet.
 *
 *     word_perplexity = exp(sum of -log p / words);  words: pieces of a page between white space
 *     byte_perplexity = exp(sum of -log p / bytes)
 *
 * All rules: bits_per_byte = sum of -log2 p / bytes. Words and bytes are counted in the original
 * file, before detokenization, so that models with different vocabularies can be compared.
 */
#pragma once

#include "eval/score.h"
#include "tokenizer/tokenizer.h"

#define WIKI_RULE_WORDS "megatron|strided|words"
enum wiki_rule { WIKI_MEGATRON, WIKI_STRIDED, WIKI_WORDS };

/* How a text is prepared. AUTO: LINES for the rule `strided`, else WIKI. LINES: as the guide joins
 * the rows of Hugging Face's data set: an empty line becomes two line ends, and two line ends are
 * put after any other line. PTB: the Penn Treebank's rules. */
#define WIKI_DETOKENIZER_WORDS "auto|wiki|ptb|lines|none"
enum wiki_detokenizer { WIKI_AUTO, WIKI_WIKI, WIKI_PTB, WIKI_LINES, WIKI_NONE };

/* A part of the text that is scored separately: ids[begin..end), including its start token if it
 * has one. */
struct wiki_page {
    size_t begin, end;
    uint64_t bytes;
    double nll; /* sum of the losses in nats; set by wiki_score */
};

/* The tokens and counts of a file. */
struct wiki_text {
    struct ids ids;
    struct wiki_page *pages;
    size_t count, cap;
    uint64_t tokens, bytes, words; /* tokens does not count start tokens */
};

/* Reads a file and sets *text. For the rule `words` with the detokenizer WIKI, each line " = Title
 * = " begins a page; otherwise the file is one page. Returns 0, or -1 with an error, also if there
 * is nothing to score. */
int wiki_read(struct wiki_text *text, const char *path, enum wiki_rule rule,
              enum wiki_detokenizer detokenizer, const struct tokenizer *t, struct encoder *e);
void wiki_release(struct wiki_text *text);
/* The token ratio of the rule `megatron`, see above. The text needs two words or more. */
double wiki_token_ratio(const struct wiki_text *text);

struct wiki_score {
    uint64_t scored; /* targets */
    double weight;   /* sum of the windows' weights: their numbers of targets, except for the rule
                      * `strided` */
    double nll;      /* sum of the losses of all windows, weighted as the rule says, in nats */
    uint64_t right;  /* targets that are the model's most probable token */
    double squares;  /* sum of the squares of the targets' losses, unweighted */
    double losses;   /* sum of the targets' losses, unweighted */
};

/* Scores a text. length: input tokens per window, at most the model's positions, and at least 2 for
 * the rule `strided`. stride: 1 to length; the rule `words` does not use it. `progress` is called
 * with the number of targets scored so far. Returns 0, or -1 with an error, also if there is
 * nothing to score. */
int wiki_score(struct wiki_score *score, struct scorer *s, struct wiki_text *text,
               enum wiki_rule rule, int64_t length, int64_t stride,
               void (*progress)(uint64_t done));

/* Returns the standard error of the bits per byte, for pages drawn at random (the standard error
 * of a ratio of sums). Returns 0 for fewer than two pages. */
double wiki_bits_error(const struct wiki_text *text);

/* wiki_words returns the number of pieces of s[0..n) between single spaces, without white space at
 * both ends: Python's len(text.strip().split(" ")). wiki_pieces returns the number of pieces
 * between white space: Python's len(re.split(r"\s+", text)). */
uint64_t wiki_words(const char *s, size_t n);
uint64_t wiki_pieces(const char *s, size_t n);
