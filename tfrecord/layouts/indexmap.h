/*
 * indexmap.h - the index maps that Megatron-LM's GPT data sets keep beside a .bin/.idx pair. They
 * say which tokens each sample has, and the order of the samples.
 *
 *     doc_idx      i32[]      the documents of all epochs, shuffled
 *     sample_idx   i32[][2]   where sample i begins: place in doc_idx, token of that document;
 *                             it ends on the first token of sample i + 1
 *     shuffle_idx  u32[]      the samples, shuffled
 *
 * Both shuffles use the same numpy RandomState. A document here is a sequence of .idx. A sample is
 * sequence length + 1 tokens of the concatenated documents; there are (epochs * tokens of an epoch
 * - 1) / sequence length samples.
 *
 * Megatron asks for a number of samples and uses as many epochs as they need. If the last epoch
 * contributes less than 80 % of its samples, it is shuffled separately from the others, so that all
 * unused samples are of the last epoch. Other programs ask for a number of epochs, and shuffle all
 * epochs together.
 */
#pragma once

#include "tfrecord/formats/megatron.h"

struct indexmap {
    uint64_t first, end; /* range of documents: [first, end) */
    uint32_t sequence_length, seed;
    uint64_t samples; /* samples wanted; 0: `epochs` decides */
    uint64_t epochs;
    int wide; /* 1: sample_idx is i64, as some versions write it */

    uint64_t made; /* result: number of samples */
    int apart;     /* result: 1 if the last epoch was shuffled separately */
};

/* How a split divides n documents into parts:
 *   core    each bound is the sum of the shares up to it times n, rounded half to even (Megatron
 *           Core)
 *   older   each part is its share times n, rounded half to even; if the parts together do not have
 *           n documents, all bounds but the first are moved by the difference (Megatron-LM before
 *           Core)
 *   cut     each part is its share times n, rounded down; if the third share is 0, the second part
 *           has the remaining documents */
enum indexmap_rule { INDEXMAP_CORE, INDEXMAP_OLDER, INDEXMAP_CUT };

/* Sets x->first and x->end to part `part` (0, 1 or 2) of a split of `documents` documents. `shares`
 * is a text like "969,30,1"; the numbers may have any sum. Returns 0, or -1 with an error. */
int indexmap_split(struct indexmap *x, uint64_t documents, const char *shares, int part,
                   enum indexmap_rule rule);

/* Appends the text with which the three files' names begin, for part `part` of the pair `prefix`:
 * as old versions of Megatron name them or, if x asks for a number of epochs, as the programs do
 * that ask for epochs. */
void indexmap_name(struct buf *out, const struct indexmap *x, const char *prefix, int part);

/* Writes NAME_doc_idx.npy, NAME_sample_idx.npy and NAME_shuffle_idx.npy. Needs 4 bytes of memory
 * per document and epoch, and 4 per sample. Returns 0, or -1 with an error. */
int indexmap_write(struct indexmap *x, const struct megatron *m, const char *name);
