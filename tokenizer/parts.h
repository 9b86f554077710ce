/*
 * parts.h - the fields of struct tokenizer, shared by tokenizer.c (loading, decoding) and
 * encoder.c.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "tokenizer/model/added.h"
#include "tokenizer/model/seams.h"
#include "tokenizer/model/subword.h"
#include "tokenizer/model/vocabulary.h"

/* Data that the first thread that needs it creates. */
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
    uint32_t *whole; /* ids, in ascending order, of tokens whose bytes encode to that one token */
    size_t whole_count;
    int drops;                 /* bytes that the vocabulary lacks are left out */
    struct added_set added[2]; /* the added tokens that each pass over the text looks for */
    struct tokenizer_lazy *lazy;
};
