/*
 * parts.h - what a tokenizer is made of: for tokenizer.c, which loads it and decodes, and
 * encoder.c.
 */
#ifndef TEXTMILL_TOKENIZER_PARTS_H
#define TEXTMILL_TOKENIZER_PARTS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "tokenizer/model/added.h"
#include "tokenizer/model/seams.h"
#include "tokenizer/model/subword.h"
#include "tokenizer/model/vocabulary.h"

/* What is made when it is first wanted, by any thread. */
struct tokenizer_lazy {
    pthread_mutex_t lock;
    int tried;
    struct decoder_table *table; /* NULL: the decoder has none */
};

struct tokenizer {
    struct vocabulary v;
    struct subword *subword;
    struct seams *seams;           /* NULL: pieces are not cut further */
    struct normalizer *normalizer; /* NULL unless BERT's rules make the words */
    uint64_t checksum;
    uint32_t *whole; /* tokens that are what their own bytes are encoded as, in order of id */
    size_t whole_count;
    struct added_set added[2]; /* what each pass over the text looks for */
    struct tokenizer_lazy *lazy;
    uint8_t *joints; /* WordPiece: of each token, enum joint */
};

#endif
