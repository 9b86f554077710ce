/*
 * npy.h - writes arrays in files of NumPy (.npy, format version 1.0): a header of 128 bytes, which
 * is a Python dictionary as text, then the numbers, little-endian, row after row (NumPy's
 * documentation, numpy.lib.format).
 */
#pragma once

#include "common/files/file.h"

enum npy_type { NPY_I16, NPY_I32, NPY_I64, NPY_U32 };

/* Opens the file NAME_MAP.npy, with the texts `name` and `map`, for `rows` x `columns` numbers (1
 * column: an array of one dimension), and writes its header. The caller puts the numbers with
 * npy_put, row after row, and closes the file. Both return 0, or -1 with an error. */
int npy_open(struct output *f, const char *name, const char *map, enum npy_type type, uint64_t rows,
             int columns);
int npy_put(struct output *f, uint64_t v, enum npy_type type);
