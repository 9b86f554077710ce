/*
 * blend.h - blends of data sets: which source each sample comes from.
 *
 * Each source i of a blend has a weight w[i]; the weights add up to 1. Let n[i] be the number of
 * samples before sample k that come from source i. Sample k comes from the source with the greatest
 *
 *     w[i] max(k, 1) - n[i]
 *
 * that is, from the source that lacks most samples of its share; if there are several, from the
 * first. It is sample n[i] of that source. Megatron Core blends its data sets by this rule
 * (build_blending_indices of its data set helpers). Here the weights are doubles that are divided
 * by their sum in the same way, so the indices are the same.
 */
#pragma once

#include "common/base/base.h"

enum { BLEND_SOURCES = 32766 }; /* most sources: Megatron numbers them with 16 bits */

struct blend {
    char **paths;         /* [count] */
    double *weights;      /* [count]; their sum is 1 */
    size_t count;         /* number of sources; 0: no blend */
    uint64_t *starts;     /* [blocks, count]: n[] at the start of each block of samples */
    uint64_t blocks, cap; /* of `starts` */
    uint64_t block;       /* the block that `source` and `sample` describe */
    uint16_t *source;
    uint64_t *sample;
};

/* Sets *b to the sources in `items`. Each source is written PATH:WEIGHT; an item may hold several,
 * separated by commas. Returns 1; 0 if no source has a weight; or -1 with an error if only some
 * have one. The caller calls blend_release, also after an error. */
int blend_parse(struct blend *b, const char *const *items, size_t count);
void blend_release(struct blend *b);

/* Sets *source to the source of sample k, and *sample to the number of samples before k that come
 * from the same source. Costs O(k) operations once, then O(1): the counts n[] at the start of each
 * block of samples are kept. Only one thread may call it at a time. */
void blend_find(struct blend *b, uint64_t k, size_t *source, uint64_t *sample);

/* Sets counts[i] to the number of samples below `samples` that come from source i. */
void blend_count(struct blend *b, uint64_t samples, uint64_t *counts);

/* Writes NAME_dataset_index.npy (i16) and NAME_dataset_sample_index.npy (i64): *source and *sample
 * of blend_find for the first `samples` samples. Returns 0, or -1 with an error. */
int blend_write(struct blend *b, uint64_t samples, const char *name);
