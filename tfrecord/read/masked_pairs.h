/*
 * masked_pairs.h - samples for BERT's pre-training from a Megatron pair whose sequences are
 * sentences, and its map of sentences (layouts/sentencemap.h). Megatron Core's BERT data set makes
 * the same samples with the settings of its script pretrain_bert.py.
 *
 * A row of the map names the sentences of a sample and its target length. The sentences are cut
 * into two parts A and B: between two sentences, or after a random one if there are more. With
 * probability 1/2 the parts change places; the sample's label says whether they did. The longer
 * part, or B if both are equal, loses tokens at a random end until both together have the target
 * length. The sample is [CLS] A [SEP] B [SEP].
 *
 * At most n = min(0.15 target, max(1, round(0.15 length))) tokens are predicted. The words of the
 * sample, each with the pieces that continue it, are shuffled. From each word in turn, a run of 1,
 * 2 or 3 words is drawn, with probabilities 6/11, 3/11 and 2/11, and shortened until its tokens fit
 * in what is left of n. A run that has a token of an earlier run is left out. Of the tokens in the
 * runs, 80 % become [MASK], 10 % any id of the vocabulary, and 10 % stay.
 *
 * All random numbers of sample k are those of numpy.random.RandomState(seed + k). Sample k has the
 * sentences of row k mod rows. So a sample depends on the pair, the map, the seed and k alone, and
 * each pass over the map masks other tokens.
 */
#ifndef TEXTMILL_TFRECORD_READ_MASKED_PAIRS_H
#define TEXTMILL_TFRECORD_READ_MASKED_PAIRS_H

#include <stdint.h>

#include "tfrecord/read/bert_rows.h"

struct masked_pairs;

struct masked_pairs_recipe {
    uint32_t mask_tokens; /* most tokens to predict in a sample; 0: as many as n above */
    uint32_t seed;        /* that of the data set */
    uint32_t vocabulary, cls, sep, mask;
    const unsigned char *continues; /* [vocabulary] 1: the id is a piece that continues a word */
};

/* Returns 1 if `path` has the form PREFIX@MAP.npy, which masked_pairs_open takes, else 0. */
int masked_pairs_named(const char *path);

/* Opens the pair PREFIX and its map, where `path` is PREFIX@MAP.npy. Checks that every row of the
 * map has two sentences or more of one document of the pair. Returns NULL with an error that names
 * the file and the row. */
struct masked_pairs *masked_pairs_open(const char *path);
void masked_pairs_close(struct masked_pairs *p);

uint64_t masked_pairs_count(const struct masked_pairs *p);  /* rows of the map */
uint32_t masked_pairs_target(const struct masked_pairs *p); /* greatest target length */

/* Returns the number of rows after which each sentence in the map has occurred once. */
double masked_pairs_epoch(const struct masked_pairs *p);

/* Checksum, size and file of the vocabulary, as the manifest beside the pair says: 0, 0 and NULL if
 * there is none. */
uint64_t masked_pairs_checksum(const struct masked_pairs *p);
uint64_t masked_pairs_vocabulary(const struct masked_pairs *p);
const char *masked_pairs_tokenizer(const struct masked_pairs *p);

/* Returns the most tokens to predict (n in the text above) for a target of `target` tokens and the
 * longest sequence that it allows. */
uint32_t masked_pairs_most(uint32_t target);

/* Makes sample k. The arrays of *row must have room for the greatest target length and 3 tokens.
 * Returns 0, or -1 with an error that names the file, the token and its offset. Only one thread may
 * call it at a time. */
int masked_pairs_read(struct masked_pairs *p, const struct masked_pairs_recipe *recipe, uint64_t k,
                      struct bert_row *row);

#endif
