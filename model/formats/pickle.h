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

#include "model/formats/safetensors.h"

/* A tensor of the dictionary: a view of a storage. */
struct pickle_tensor {
    struct safetensor view; /* its name, rank and shape, and its strides, which are at least 0 */
    int64_t offset;         /* where it begins in the storage, in elements; at least 0 */
    const char *type;       /* the storage's class, for example "FloatStorage" */
    const char *key;        /* the storage's name */
    int64_t storage_elements;
};

/* Reads a dictionary of tensors from bytes[n], which must hold one pickle. Calls add(ctx, t) for
 * each tensor, in the dictionary's order; the texts of t are valid until it returns. Error messages
 * begin with `name`. Returns 0; or -1 with an error, which may be that of `add`. */
int pickle_read(const void *bytes, uint64_t n, const char *name,
                int (*add)(void *ctx, const struct pickle_tensor *t), void *ctx);
