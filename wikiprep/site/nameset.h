/*
 * nameset.h - a set of names that somebody chose: of categories, of pages.
 *
 * An option's value is one name, or "@FILE": a name a line; blank lines and those that begin with
 * '#', which no title does, are passed over.
 */
#ifndef TEXTMILL_WIKIPREP_SITE_NAMESET_H
#define TEXTMILL_WIKIPREP_SITE_NAMESET_H

#include <stddef.h>

struct nameset;

struct nameset *nameset_new(void);
void nameset_free(struct nameset *set);

/* Adds a name, unless it is there. */
void nameset_add(struct nameset *set, const char *name, size_t n);

/* Calls add(ctx, name, n) for each name that an option's value stands for: 0, or -1 when the file
 * cannot be read, or add returned -1. */
int nameset_each(const char *value, int (*add)(void *ctx, const char *name, size_t n), void *ctx);

size_t nameset_count(const struct nameset *set);
const char *nameset_at(const struct nameset *set, size_t i); /* in the order they were added */

/* The place of a name, or -1. Thread-safe while nothing is added. */
long nameset_find(const struct nameset *set, const char *name, size_t n);

#endif
