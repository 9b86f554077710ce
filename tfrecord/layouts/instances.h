/*
 * instances.h - pairs of sentences with masked words, for masked-language-model and
 * next-sentence pre-training: Google's BERT recipe (Devlin et al., "BERT: Pre-training of Deep
 * Bidirectional Transformers", 2019, 3.1 and A.2), draw for draw with Python's generator.
 *
 * Documents are shuffled. For each pass and each document, its sentences are gathered until they
 * have as many tokens as a target: sequence length - 3 or, with probability short_sequence, a
 * number from 2 to that. The gathered ones are cut in two, A and B; for half of them, and where
 * there is one sentence only, B comes from another document and the unused sentences go back.
 * The longer of A and B loses tokens at a random end until [CLS] A [SEP] B [SEP] fits. Of its
 * tokens round(length * mlm) are predicted, at least 1 and at most mask_tokens: 8 of 10 become
 * [MASK], one any id of the vocabulary, one stays. Last, all instances are shuffled.
 *
 * A sequence of length L predicts at least L - sequence length + mask_tokens ids, so that those
 * that are not predicted always fit sequence length - mask_tokens places (bert_record.h). With
 * `continues` whole words are masked, or not: then a word that would be too many is passed over.
 */
#ifndef TEXTMILL_TFRECORD_LAYOUTS_INSTANCES_H
#define TEXTMILL_TFRECORD_LAYOUTS_INSTANCES_H

#include <stddef.h>
#include <stdint.h>

/* The recipe. */
struct instances_recipe {
    uint32_t sequence_length; /* >= 5 */
    uint32_t mask_tokens;     /* in [1, sequence_length - 3] */
    uint32_t passes;          /* over the documents */
    double mlm, short_sequence;
    uint64_t seed;
    uint32_t vocabulary, cls, sep, mask;
    const unsigned char *continues; /* [vocabulary] 1: the id goes on a word; NULL: mask pieces */
};

/* Documents of sentences, end to end. Starts have one entry more than there are of each. */
struct sentences {
    uint32_t *ids;
    uint64_t *starts;    /* of each sentence in ids */
    uint32_t *documents; /* first sentence of each */
    size_t tokens, count, document_count;
    size_t ids_cap, starts_cap, documents_cap;
};

/* Adds a document; empty sentences are left out, and a document without others too. */
void sentences_add(struct sentences *s, const uint32_t *ids, size_t n, const uint32_t *ends,
                   size_t count);
void sentences_clear(struct sentences *s);
void sentences_release(struct sentences *s);

struct instance {
    size_t at;       /* in the store: tokens[length], positions[masked], labels[masked] */
    uint32_t length; /* [CLS] and both [SEP] included */
    uint32_t second; /* where B begins */
    uint32_t masked; /* positions ascend */
    uint32_t random; /* 1: B is from another document */
};

struct instances {
    uint32_t *store;
    struct instance *list;
    size_t stored, count, store_cap, list_cap;
};

/* Replaces what `out` holds. Fewer than 2^32 instances and sentences. */
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

#endif
