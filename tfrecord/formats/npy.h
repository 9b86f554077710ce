/*
 * npy.h - arrays in files of NumPy (.npy): a header, which is a Python dictionary as text, then the
 * numbers, little-endian, row after row (NumPy's documentation, numpy.lib.format).
 *
 * Files are written in format version 1.0, with a header of 128 bytes. All versions are read.
 */
#ifndef TEXTMILL_TFRECORD_FORMATS_NPY_H
#define TEXTMILL_TFRECORD_FORMATS_NPY_H

#include <stdint.h>

#include "common/file.h"

enum npy_type { NPY_I16, NPY_I32, NPY_I64, NPY_U32 };

/* Opens the file NAME_MAP.npy, with the texts `name` and `map`, for `rows` x `columns` numbers (1
 * column: an array of one dimension), and writes its header. The caller puts the numbers with
 * npy_put, row after row, and closes the file. Both return 0, or -1 with an error. */
int npy_open(struct output *f, const char *name, const char *map, enum npy_type type, uint64_t rows,
             int columns);
int npy_put(struct output *f, uint64_t v, enum npy_type type);

/* ---- reading ------------------------------------------------------------------------------ */

/* An array of unsigned numbers in a mapped file. */
struct npy {
    struct file_map map;
    const unsigned char *numbers; /* in the map; not aligned */
    uint64_t rows, columns;       /* an array of one dimension has one column */
    int width;                    /* bytes per number: 4 or 8 */
};

/* Maps the file `path`. It must hold an array of one or two dimensions, of u32 or u64 numbers.
 * Returns 0, or -1 with an error. */
int npy_map(struct npy *a, const char *path);
void npy_close(struct npy *a);

/* Does the work of npy_map for a file that is in memory: finds the array in data[0..n), which a
 * borrows. Returns 0, or -1 with an error that does not name the file. */
int npy_parse(struct npy *a, const unsigned char *data, uint64_t n);

uint64_t npy_at(const struct npy *a, uint64_t row, uint64_t column);

#endif
