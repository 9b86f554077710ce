/*
 * scope.h - locals that are released wherever their scope is left.
 *
 *     SCOPED(buf) path = BUF_INIT, name = BUF_INIT;      as if each `return` called buf_release
 *     SCOPED_MEM char *copy = mem_strdup(text);          and free
 *
 * SCOPED(X) is for every struct X that has a function X_release; SCOPED_BY names another function
 * that takes a pointer to the variable. Each variable of a declaration is released, so it needs an
 * initial value that can be. A `return` computes its value before the release. SCOPED_MEM is for
 * memory of mem.h; NULL is fine. Do not scope what is handed to another owner.
 */
#pragma once

#include "common/base/std.h"

#define SCOPED(type)       __attribute__((cleanup(type##_release))) struct type
#define SCOPED_BY(release) __attribute__((cleanup(release)))
#define SCOPED_MEM         __attribute__((cleanup(scope_free)))

/* Frees the memory to which the pointer at `pointer` points. */
static inline void scope_free(void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory); /* a pointer to any type */
    free(memory);
}
