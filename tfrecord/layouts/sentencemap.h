/*
 * sentencemap.h - the map that Megatron-LM's BERT data sets keep of a .bin/.idx pair whose
 * sequences are sentences: which sentences each sample has.
 *
 *     sample_index   u32[][3]   first sentence, end of the sentences, target length in tokens
 *
 * In each epoch, the sentences of each document are collected until they have a target number of
 * tokens, `min_sentences` are there and more than one sentence is left; the last sample of a
 * document takes the rest. The target is `length` or, with a probability of 1 to round(1 /
 * short_sequence), a random number from 2 to `length`. Documents with fewer than `min_sentences`
 * are left out, and those of several sentences with one of more than 512 tokens. Finally the
 * samples are shuffled.
 *
 * Megatron Core's data set helpers make this map (build_mapping), with the C++ generators mt19937
 * and mt19937_64 (Matsumoto and Nishimura, 1998; Nishimura, "Tables of 64-bit Mersenne Twisters",
 * 2000). The map here is the same.
 */
#ifndef TEXTMILL_TFRECORD_LAYOUTS_SENTENCEMAP_H
#define TEXTMILL_TFRECORD_LAYOUTS_SENTENCEMAP_H

#include <stdint.h>

#include "tfrecord/formats/megatron.h"

struct sentencemap {
    uint64_t first, end;    /* range of documents: [first, end) */
    uint32_t length;        /* most tokens of a sample, without special tokens; >= 2 */
    uint32_t min_sentences; /* least sentences of a document: 2 for pairs of segments, else 1 */
    double short_sequence;  /* probability of a short target, in [0, 1] */
    uint32_t seed;          /* below 2^31 - 1 */
    uint64_t samples;       /* number of samples wanted: as many whole epochs are made as that
                             * takes; 0: `epochs` decides */
    uint64_t epochs;

    uint64_t made; /* result: number of samples; `epochs` is set, too */
};

/* Writes NAME_sample_index.npy and sets x->made and x->epochs. Its memory is 12 bytes per sample.
 * Returns 0, or -1 with an error. */
int sentencemap_write(struct sentencemap *x, const struct megatron *m, const char *name);

#endif
