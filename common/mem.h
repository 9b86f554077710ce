/*
 * mem.h - memory that is there or the program ends.
 *
 * Out of memory is not an error that callers handle: these functions print one line and exit
 * with status 1, unless mem_escape says otherwise. A size that came from a file is checked against
 * the file before it gets here.
 */
#ifndef TEXTMILL_COMMON_MEM_H
#define TEXTMILL_COMMON_MEM_H

#include <setjmp.h>
#include <stddef.h>

void *mem_alloc(size_t bytes);                        /* malloc; 0 bytes are fine */
void *mem_zalloc(size_t count, size_t size);          /* calloc, overflow checked */
void *mem_resize(void *p, size_t count, size_t size); /* realloc, overflow checked */
void *mem_aligned(size_t count, size_t size);         /* 64-byte aligned, uninitialised; free() */
void *mem_huge(size_t count, size_t size);            /* the same, on huge pages if there are any */
char *mem_strdup(const char *s);

/* For a library in someone else's program: where memory runs out in this thread, control goes to
 * `to`, which setjmp has set, once, and nothing is printed. What was allocated stays allocated.
 * NULL: none. */
void mem_escape(jmp_buf *to);

char *mem_strndup(const char *s, size_t n); /* n bytes and a NUL */

/* Grows *array so that `need` elements fit; capacity at least doubles. */
#define mem_grow(array, capacity, need)                                                            \
    do {                                                                                           \
        if ((size_t)(need) > (size_t)(capacity)) {                                                 \
            size_t grown_ = (size_t)(capacity)*2 > (size_t)(need) ? (size_t)(capacity)*2           \
                                                                  : (size_t)(need);                \
            (array) = mem_resize((array), grown_, sizeof *(array));                                \
            (capacity) = grown_;                                                                   \
        }                                                                                          \
    } while (0)

#endif
