/*
 * added.h - finds added tokens, which are cut out of a text before the rest is split into pieces.
 *
 * The leftmost match is taken; among matches that begin at the same place, the longest. A match
 * can be rejected: a special token when special tokens are not wanted, or a "single_word" token
 * next to a letter or digit. A rejected match still hides any other matches inside it, as in
 * Hugging Face's tokenizers.
 */
#pragma once

#include "tokenizer/cut/trie.h"
#include "tokenizer/model/vocabulary.h"

/* The added tokens that one pass over the text looks for. */
struct added_set {
    struct added_item {
        struct added_token token;
        char *text; /* spelling of the token in the text of this pass */
        size_t len;
    } * items;
    size_t count, cap;
    int all_special;
    int overlap; /* a match may begin in the white space that another one has absorbed */
    unsigned char first[256];   /* 1: a token begins with this byte */
    uint64_t pairs[65536 / 64]; /* bit set: a token may begin with these two bytes */
    struct trie trie;           /* of the spellings, with the indices of their items */
};

/* Adds a token, unless its text is empty. Copies the text. */
void added_put(struct added_set *s, const struct added_token *token, const char *text, size_t n);
void added_finish(struct added_set *s); /* call after the last added_put and before added_next */
void added_release(struct added_set *s);

/* The state of a search through a text. Set text and n; all other fields begin as zero. */
struct added_walk {
    const char *text;
    size_t n;
    size_t at;         /* offset up to which the text was searched */
    size_t done;       /* end of the last match and of the white space that it absorbs */
    size_t begin, end; /* range of the current match */
    uint32_t id;
};

/* Finds the next match and sets begin, end and id of *w. Returns 1, or 0 if there is no further
 * match. Special tokens match only if `special` is not 0. */
int added_next(const struct added_set *s, struct added_walk *w, int special);
