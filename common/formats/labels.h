/*
 * labels.h - the classes that a model tells apart: their names, in the order of their numbers.
 */
#pragma once

#include "common/base/base.h"

enum { LABELS_BYTES = 4096 }; /* room for all names */

struct labels {
    int64_t count;  /* 0: none */
    int regression; /* 1: the model predicts a number, and `count` is 1 */
    size_t used;
    char names[LABELS_BYTES]; /* each name followed by a NUL */
};

/* Adds a class. Returns 0, or -1 with an error if it is there already, holds a NUL, is not UTF-8,
 * or does not fit. */
int labels_add(struct labels *c, const char *name, size_t n);
/* Makes *c the one output of a regression, whose name is transformers' default. */
void labels_set_regression(struct labels *c);

/* Returns the name of class i, which is below the count. */
const char *labels_name(const struct labels *c, int64_t i);
/* Returns the name without LABEL_: transformers calls a class without a name LABEL_2, say. */
const char *labels_bare(const char *name);
/* Returns the number of the class with this name or bare name, or -1. */
int64_t labels_find(const struct labels *c, const char *name, size_t n);

/* Orders the names: numbers by value, then the others by byte. */
void labels_sort(struct labels *c);
