/*
 * nameset.h - a set of names, numbered from 0, with a value for each. Also reads the names that an
 * option lists: categories or pages.
 *
 * The value of such an option is one name, or "@FILE" for a file with one name per line. Blank
 * lines and lines that begin with '#' are skipped; no title begins with '#'.
 */
#pragma once

#include "common/base/base.h"

struct nameset;

/* Makes an empty set. Each name will have a value of `bytes` bytes, which are zero at first. */
struct nameset *nameset_new(size_t bytes);
void nameset_free(struct nameset *set);

/* Adds a name if it is not in the set. Returns its index. */
size_t nameset_add(struct nameset *set, const char *name, size_t n);

/* Return the value of a name, valid until the next name is added. nameset_put adds a name that is
 * not in the set; nameset_get returns NULL for it, and is thread-safe while no names are added. */
void *nameset_put(struct nameset *set, const char *name, size_t n);
void *nameset_get(const struct nameset *set, const char *name, size_t n);

/* Calls add(ctx, name, n) for each name in an option's value. Returns 0; or -1 with an error if
 * the file cannot be read, or if add returned -1. */
int nameset_each(const char *value, int (*add)(void *ctx, const char *name, size_t n), void *ctx);

size_t nameset_count(const struct nameset *set);
/* Return name i, in order of addition, and its value, valid until the next name is added. */
const char *nameset_at(const struct nameset *set, size_t i);
void *nameset_value(const struct nameset *set, size_t i);

/* Return the index of a name; -1 if it is not in the set. `hash` is hash_bytes of the name.
 * Thread-safe while no names are added. */
long nameset_find(const struct nameset *set, const char *name, size_t n);
long nameset_find_hashed(const struct nameset *set, const char *name, size_t n, uint64_t hash);
