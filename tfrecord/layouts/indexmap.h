/*
 * indexmap.h - the index maps that Megatron-LM's GPT data sets keep beside a .bin/.idx pair: which
 * tokens a sample has, and in which order samples come.
 *
 *     doc_idx      i32[]      the documents of all epochs, shuffled
 *     sample_idx   i32[][2]   where sample i begins: place in doc_idx, token of that document;
 *                             it ends on the first token of sample i + 1
 *     shuffle_idx  u32[]      the samples, shuffled
 *
 * One numpy RandomState serves both shuffles. Documents are .idx's sequences. A sample is
 * sequence length + 1 tokens of the documents laid end to end; there are
 * (epochs * tokens of an epoch - 1) / sequence length of them.
 *
 * Megatron asks for a number of samples and takes as many epochs as that needs. Where the last
 * epoch gives less than 8 of 10 of its samples, it is shuffled apart from the others, so that what
 * is left out of it is not a share of them all. Others ask for epochs, and shuffle all as one.
 */
#ifndef TEXTMILL_TFRECORD_LAYOUTS_INDEXMAP_H
#define TEXTMILL_TFRECORD_LAYOUTS_INDEXMAP_H

#include <stdint.h>

#include "common/buf.h"
#include "tfrecord/formats/megatron.h"

struct indexmap {
    uint64_t first, end; /* documents [first, end) */
    uint32_t sequence_length, seed;
    uint64_t samples; /* wanted; 0: `epochs` says how many */
    uint64_t epochs;
    int wide; /* sample_idx is i64, as some versions write it */

    uint64_t made; /* samples: the result */
    int apart;     /* the last epoch was shuffled apart */
};

/* How a split cuts n documents into parts:
 *   core   each bound is the sum of the shares up to it times n, rounded half to even: Megatron
 * Core older  each part is its share times n, rounded half to even; if the parts have more than n
 *          documents together, or fewer, all bounds but the first move: Megatron-LM before Core
 *   cut    each part is its share times n, rounded down */
enum indexmap_rule { INDEXMAP_CORE, INDEXMAP_OLDER, INDEXMAP_CUT };

/* Sets x->first and x->end to part 0, 1 or 2 of a split. `shares` is "969,30,1", of any sum. */
int indexmap_split(struct indexmap *x, uint64_t documents, const char *shares, int part,
                   enum indexmap_rule rule);

/* Appends what the files' names begin with: as Megatron's old versions look for it, and, where x
 * asks for epochs, as programs that do so name it. */
void indexmap_name(struct buf *out, const struct indexmap *x, const char *prefix, int part);

/* Writes NAME_doc_idx.npy, NAME_sample_idx.npy and NAME_shuffle_idx.npy. Holds 4 bytes a document
 * an epoch, and 4 a sample. */
int indexmap_write(struct indexmap *x, const struct megatron *m, const char *name);

#endif
