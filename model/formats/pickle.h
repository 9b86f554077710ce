/*
 * pickle.h - reads the list of tensors in a file of torch.save, without executing anything.
 *
 * Python's pickle is a program for a stack machine, which can call any function by its name. A
 * dictionary of tensors needs few instructions and five names: collections.OrderedDict, torch's
 * _rebuild_tensor_v2 and _rebuild_parameter, and the class of a storage, such as
 * torch.FloatStorage. This reader interprets these and calls nothing. Any other instruction or
 * name, and any other use of these names, is an error that gives the position of the byte.
 *
 *     OrderedDict:        ()                                                  {}
 *     _rebuild_tensor_v2: (storage, offset, shape, strides, gradient, hooks)  a view of a storage
 *     _rebuild_parameter: (tensor, gradient, hooks)                           the tensor
 *     persistent id:      ("storage", class, key, location, elements)         the storage
 *
 * Instructions: https://docs.python.org/3/library/pickletools.html; protocol 2, which torch uses.
 * Checked by tests/unit/model/formats/test_torch.c, tests/fuzz/pickle.c and tests/peers/folders.py.
 */
#pragma once

#include "common/base/base.h"

enum { PICKLE_RANK = 8 };

struct pickle_tensor {
    char *name;
    char *type; /* the storage's class, for example "FloatStorage" */
    char *key;  /* the storage's name */
    int64_t storage_elements;
    int64_t offset; /* offset and strides are in elements and at least 0 */
    int rank;
    int64_t shape[PICKLE_RANK], stride[PICKLE_RANK];
    uint64_t at; /* position of the byte in the pickle that made the tensor */
};

struct pickle {
    struct pickle_tensor *tensors; /* in the dictionary's order */
    size_t count, cap;
};

/* Reads a dictionary of tensors from bytes[n], which must hold one pickle. Error messages begin
 * with `name`. Returns 0, or -1 with an error; then there is nothing to free. */
int pickle_read(struct pickle *p, const void *bytes, uint64_t n, const char *name);
void pickle_free(struct pickle *p);
