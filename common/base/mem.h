/*
 * mem.h - memory allocation that ends the program if memory runs out.
 *
 * Callers do not handle running out of memory: these functions print one line and exit with status
 * 1, unless mem_escape was called. Before a size from a file is passed to them, it must be checked
 * against the file. The caller frees the memory with free().
 */
#pragma once

#include <setjmp.h>

#include "common/base/scope.h"

void *mem_alloc(size_t bytes);                        /* malloc; 0 bytes are fine */
void *mem_zalloc(size_t count, size_t size);          /* calloc, overflow checked */
void *mem_resize(void *p, size_t count, size_t size); /* realloc, overflow checked */
void *mem_aligned(size_t count, size_t size);         /* 64-byte aligned, uninitialised */
void *mem_huge(size_t count, size_t size); /* as mem_aligned, on huge pages if available */
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n); /* n bytes and a NUL */

/* Makes these functions jump to *to, which setjmp has set, if memory runs out in this thread, and
 * print nothing. For a library inside another program. The jump happens once. Memory allocated
 * before is not freed. `to` NULL: the functions exit again. Returns the `to` of the call before. */
jmp_buf *mem_escape(jmp_buf *to);

/* Grows the array so that `need` elements fit. The capacity at least doubles. */
#define mem_grow(array, capacity, need)                                                            \
    do {                                                                                           \
        if ((size_t)(need) > (size_t)(capacity)) {                                                 \
            size_t grown_ = (size_t)(capacity)*2 > (size_t)(need) ? (size_t)(capacity)*2           \
                                                                  : (size_t)(need);                \
            (array) = mem_resize((array), grown_, sizeof *(array));                                \
            (capacity) = grown_;                                                                   \
        }                                                                                          \
    } while (0)

/* Adds an element to the array, which grows if it must. The value is the new element, to be set:
 *     mem_next(list->items, list->count, list->cap) = item;
 * `item` must not read the array or its count: C does not say which side comes first. */
#define mem_next(array, count, capacity)                                                           \
    (*({                                                                                           \
        mem_grow(array, capacity, (count) + 1);                                                    \
        &(array)[(count)++];                                                                       \
    }))

/* Sorts array[count] as qsort does; an array without elements may be NULL. */
#define mem_sort(array, count, compare)                                                            \
    do {                                                                                           \
        if (count)                                                                                 \
            qsort((array), (count), sizeof *(array), (compare));                                   \
    } while (0)
