/*
 * parts.h - the fields of struct tokenizer and struct encoder, and the steps of encoding, shared by
 * tokenizer.c (loading, decoding), encoder.c, places.c (ranges of tokens) and encode_document.c.
 */
#pragma once

#include <pthread.h>

#include "tokenizer/cut/pieces.h"
#include "tokenizer/model/added.h"
#include "tokenizer/model/seams.h"
#include "tokenizer/model/subword.h"
#include "tokenizer/model/vocabulary.h"

/* Data that the first thread to need it creates. */
struct tokenizer_lazy {
    pthread_mutex_t lock;
    int tried;
    struct decoder_table *table; /* NULL if not yet made, or if the decoder cannot use a table */
};

struct tokenizer {
    struct vocabulary v;
    struct subword *subword;
    struct seams *seams;           /* NULL: pieces are not divided before encoding */
    struct normalizer *normalizer; /* cuts words by BERT's rules; NULL for other vocabularies */
    uint64_t checksum;
    struct added_set added[2]; /* the added tokens that each pass over the text looks for */
    struct tokenizer_lazy *lazy;
};

enum { WORDS_MAX = 1 << 30 }; /* limit of a text's bytes for WordPiece and for ranges */

struct encoder {
    const struct tokenizer *t;
    struct split_walk *split; /* either this or `words` is used, unless steps cut the text */
    struct words *words;
    struct stepper *stepper;
    struct words *letters; /* for ranges: the words of one character; made on demand */
    struct subword_scratch scratch;
    struct wordcache *cache;
    struct buf repaired, prefixed, normalized;
    int (*take)(void *taker, const char *piece, size_t n); /* encoder_pieces: is given the pieces */
    void *taker;
    uint64_t replaced;   /* bytes that were not UTF-8 */
    struct pieces tiles; /* pieces without gaps between them */
    size_t bounds[1024];
    const struct added_set *marks; /* not NULL: encode_all looks for these tokens */
    size_t cuts[1024];             /* where each token found begins and ends */
    uint32_t given[1024 / 2];      /* their ids */
};

/* Normalizes a text, for the second pass. If the text changes, the result goes to e->normalized,
 * and *text and *n are set to it; else they stay. *first is 1 if a whole text begins with *text; it
 * is set to 0 if the normalizer dropped the first character. Sets `origins`, unless it is NULL, to
 * the origin of each byte of the result (cut/origins.h). Returns 0, or -1 with an error. */
int encoder_normalize(struct encoder *e, const char **text, size_t *n, int *first,
                      struct ids *origins);
/* Begins an iteration over the pieces of a normalized text without added tokens. `first` 1: the
 * text begins a document, and normalization did not drop its first character. Returns 0, or -1 with
 * an error. */
int encoder_cut(struct encoder *e, const char *text, size_t n, int first);
/* Sets *p to the next pieces. Returns 1, 0 at the end, -1 with an error. */
int encoder_next(struct encoder *e, struct pieces *p);
/* Appends the ids of the pieces to `out`. Returns 0, or -1 with an error. */
int encoder_put(struct encoder *e, const struct pieces *p, struct ids *out);
