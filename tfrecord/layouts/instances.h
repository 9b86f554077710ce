/*
 * instances.h - pairs of sentences with masked words, for masked-language-model and next-sentence
 * pre-training: Google's BERT recipe (Devlin et al., "BERT: Pre-training of Deep Bidirectional
 * Transformers", 2019, 3.1 and A.2), with the same random numbers as its Python program.
 *
 * First, the documents are shuffled. In each pass, the sentences of each document are collected
 * until they have a target number of tokens. The target is sequence length - 3 or, with probability
 * short_sequence, a random number from 2 to that. The collected sentences are cut into two parts, A
 * and B. In half of the cases, and always if there is only one sentence, B is replaced by sentences
 * of another document and the unused sentences go back. The longer of A and B loses tokens at a
 * random end until [CLS] A [SEP] B [SEP] fits. Of its tokens, round(length * mlm) are predicted, at
 * least 1 and at most mask_tokens: 80 % of them become [MASK], 10 % any id of the vocabulary, and
 * 10 % stay. Finally all instances are shuffled.
 *
 * A sequence of length L predicts at least L - sequence length + mask_tokens ids, so its other ids
 * always fit in sequence length - mask_tokens places (bert_record.h). If `continues` is set, a word
 * is masked as a whole or not at all; a word that would exceed the number of tokens to predict is
 * skipped.
 */
#pragma once

#include "common/base/base.h"

/* The recipe. */
struct instances_recipe {
    uint32_t sequence_length; /* >= 5 */
    uint32_t mask_tokens;     /* in [1, sequence_length - 3] */
    uint32_t passes;          /* passes over the documents */
    double mlm, short_sequence;
    uint64_t seed;
    uint32_t vocabulary, cls, sep, mask;
    /* [vocabulary] 1: the id is a piece that continues a word; NULL: mask single pieces */
    const unsigned char *continues;
};

/* A list of documents, made of sentences, with concatenated ids. `starts` and `documents` have one
 * more entry each, for the end. */
struct sentences {
    uint32_t *ids;
    uint64_t *starts;    /* start of each sentence in ids */
    uint32_t *documents; /* first sentence of each document */
    size_t tokens, count, document_count;
    size_t ids_cap, starts_cap, documents_cap;
};

/* Adds a document with the tokens ids[0..n), in `count` sentences: ends[i] is the index in ids[]
 * after the last token of sentence i. Empty sentences are left out, and so is a document in which
 * all sentences are empty. */
void sentences_add(struct sentences *s, const uint32_t *ids, size_t n, const uint32_t *ends,
                   size_t count);
void sentences_clear(struct sentences *s);
void sentences_release(struct sentences *s);

struct instance {
    size_t at;       /* offset in `store` of tokens[length], positions[masked], labels[masked] */
    uint32_t length; /* [CLS] and both [SEP] included */
    uint32_t second; /* position of B's first token */
    uint32_t masked; /* number of masked tokens; their positions are in ascending order */
    uint32_t random; /* 1: B is from another document */
};

struct instances {
    uint32_t *store;
    struct instance *list;
    size_t stored, count, store_cap, list_cap;
};

/* Makes instances of all documents in `s` and replaces the content of `out` with them. There must
 * be fewer than 2^32 instances and sentences. */
void instances_make(struct instances *out, const struct instances_recipe *recipe,
                    const struct sentences *s);
void instances_release(struct instances *i);

static inline const uint32_t *instance_tokens(const struct instances *all, const struct instance *i)
{
    return all->store + i->at;
}

static inline const uint32_t *instance_positions(const struct instances *all,
                                                 const struct instance *i)
{
    return all->store + i->at + i->length;
}

static inline const uint32_t *instance_labels(const struct instances *all, const struct instance *i)
{
    return all->store + i->at + i->length + i->masked;
}
