/*
 * cache.h - one array as the cache of a layer, for programs that keep no store.
 */
#pragma once

#include "model/network/layer.h"

/* Divides an array of as many numbers as layer_cache says into the parts of a layer's cache. If
 * `array` is OPS_NONE, all parts are OPS_NONE. */
static inline struct model_cache cache_in(const struct model *m, struct ops_array array, int64_t B,
                                          int64_t T)
{
    int64_t parts[CACHE_PARTS];
    struct model_cache cache = { 0 };
    layer_cache(m, B, T, parts);
    for (int i = 0; i < CACHE_PARTS; array = ops_part(array, parts[i++]))
        cache.part[i] = array;
    return cache;
}
