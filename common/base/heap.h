/*
 * heap.h - binary heaps: arrays whose first item comes before all others, without being sorted.
 */
#pragma once

#include "common/base/std.h"

/* Makes the functions of a heap of `type`; before(a, b), of the addresses of two items, returns 1
 * if the first comes before the second, else 0:
 * name_sink: puts `item` into the place i, which is free, and moves it down until it comes before
 *            the two below it;
 * name_rise: puts it there, and moves it up until the one above comes before it;
 * name_make: makes a heap of items in any order;
 * name_take: removes the first item and returns it. */
#define HEAP(name, type, before)                                                                   \
    static inline void name##_sink(type *heap, size_t count, size_t i, type item)                  \
    {                                                                                              \
        for (size_t child; (child = 2 * i + 1) < count; i = child) {                               \
            child += child + 1 < count && before(&heap[child + 1], &heap[child]);                  \
            if (!before(&heap[child], &item))                                                      \
                break;                                                                             \
            heap[i] = heap[child];                                                                 \
        }                                                                                          \
        heap[i] = item;                                                                            \
    }                                                                                              \
    __attribute__((unused)) static inline void name##_rise(type *heap, size_t i, type item)        \
    {                                                                                              \
        for (; i && before(&item, &heap[(i - 1) / 2]); i = (i - 1) / 2)                            \
            heap[i] = heap[(i - 1) / 2];                                                           \
        heap[i] = item;                                                                            \
    }                                                                                              \
    static inline void name##_make(type *heap, size_t count)                                       \
    {                                                                                              \
        for (size_t i = count / 2; i-- > 0;)                                                       \
            name##_sink(heap, count, i, heap[i]);                                                  \
    }                                                                                              \
    static inline type name##_take(type *heap, size_t *count)                                      \
    {                                                                                              \
        type first = heap[0];                                                                      \
        if (--*count)                                                                              \
            name##_sink(heap, *count, 0, heap[*count]);                                            \
        return first;                                                                              \
    }
