/*
 * added.h - added tokens, cut out of a text before anything else.
 *
 * The leftmost match counts, of those that begin there the longest. A match that is not taken (a
 * special token where none is asked for; a single word with letters or digits about it) hides what
 * lies inside it all the same, as with Hugging Face's tokenizers.
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_ADDED_H
#define TEXTMILL_TOKENIZER_MODEL_ADDED_H

#include <stddef.h>
#include <stdint.h>

#include "tokenizer/model/vocabulary.h"

/* Those that are looked for in one pass over the text. */
struct added_set {
    struct added_item {
        struct added_token token;
        size_t number; /* in order of added_put */
        char *text;    /* as it stands in the text that this pass sees */
        size_t len;
    } * items;
    size_t count;
    int all_special;
    unsigned char first[256];   /* whether one begins with the byte */
    uint64_t pairs[65536 / 64]; /* a bit for each two bytes with which one may begin */
    size_t ranges[256 + 1];     /* where those begin whose first byte is this one */
};

/* Appends a token, unless its text is empty; the text is copied. */
void added_put(struct added_set *s, const struct added_token *token, const char *text, size_t n);
void added_finish(struct added_set *s); /* behind the last added_put, before added_next */
void added_release(struct added_set *s);

/* A walk over the matches in a text. Starts as zeroes but for text and n. */
struct added_walk {
    const char *text;
    size_t n;
    size_t at;         /* what is before was searched */
    size_t done;       /* where the last match ended, with the spaces behind it */
    size_t begin, end; /* the match */
    uint32_t id;
};

/* The next match: 1, or 0 when there is none. With `special` those count that are. */
int added_next(const struct added_set *s, struct added_walk *w, int special);

#endif
