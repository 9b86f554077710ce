/*
 * matrix.h - matrices in mapped files, and their conversion with all threads to the types and the
 * layout of stored.h. Each number of the file is read once.
 */
#pragma once

#include "common/base/pool.h"
#include "model/compute/stored.h"

/* A matrix in a file: O rows, one for each output, of I numbers. A vector has O = 1. */
struct matrix {
    const char *data; /* rows one after the other, at any address */
    enum ops_type type;
    int64_t O, I;
    int turned;    /* 1: the file holds its transpose [I,O]; the type has no blocks */
    int grouped;   /* 1: the rows are in groups (stored.h) */
    int64_t pairs; /* width of a head whose rows are in pair order (gguf_model.h); 0: the
                    * model's order */
    /* for errors: the file, the tensor, and the position of data in the file */
    const char *path, *name;
    uint64_t offset;
};

/* Returns the place in pair order of row r, in heads of HS rows: rows i and HS/2 + i of a head are
 * at 2 i and 2 i + 1. */
static inline int64_t matrix_paired(int64_t r, int64_t HS)
{
    const int64_t i = r % HS;
    return r - i + (i < HS / 2 ? 2 * i : 2 * (i - HS / 2) + 1);
}

/* Returns 1 if matrix_make would only copy the file's bytes, because they have this type and layout
 * (`grouped` 1: in groups) already, else 0. */
int matrix_is(const struct matrix *m, enum ops_type type, int grouped);

/* Returns the matrix with its rows in the model's order, in type `type` and, with `grouped` 1, in
 * groups (stored.h). The work is done on the threads of `pool`. The caller frees it. Returns NULL
 * with an error that names the file and the byte if a number or a scale is infinite or NaN, or with
 * one that names the tensor if a number would become infinite in this type. Numbers that are not
 * converted are not checked. */
char *matrix_make(const struct matrix *m, enum ops_type type, int grouped, struct pool *pool);

/* Checks the scales of a matrix in groups. Returns 0, or -1 with an error as matrix_make. */
int matrix_check_groups(const struct matrix *m, struct pool *pool);
