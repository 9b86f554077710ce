/*
 * pickle.h - the list of tensors in what torch.save writes, read without executing anything.
 *
 * Python's pickle is a program for a machine with a stack, which may name any function and call it.
 * A dictionary of tensors takes few of its instructions and five names: collections.OrderedDict,
 * torch's _rebuild_tensor_v2 and _rebuild_parameter, and the class of a storage, torch.FloatStorage
 * and others of that ending. These are understood, not called; any other instruction or name, and
 * any other use of these, is an error that tells the byte.
 *
 *     OrderedDict:        ()                                                  {}
 *     _rebuild_tensor_v2: (storage, offset, shape, strides, gradient, hooks)  a view of a storage
 *     _rebuild_parameter: (tensor, gradient, hooks)                           the tensor
 *     persistent id:      ("storage", class, key, location, elements)         the storage; before
 *                         torch 1.6 with None behind
 *
 * Instructions: https://docs.python.org/3/library/pickletools.html; protocol 2, which is torch's
 * own. Checked by tests/unit/test_torch.c, tests/fuzz/pickle.c and tests/peers/folders.py.
 */
#ifndef TEXTMILL_MODEL_PICKLE_H
#define TEXTMILL_MODEL_PICKLE_H

#include <stddef.h>
#include <stdint.h>

enum { PICKLE_RANK = 8 };

struct pickle_tensor {
    char *name;
    char *type; /* the storage's class, "FloatStorage" */
    char *key;  /* the storage's own name */
    int64_t storage_elements;
    int64_t offset; /* this and strides: in elements; none is below 0 */
    int rank;
    int64_t shape[PICKLE_RANK], stride[PICKLE_RANK];
    uint64_t at; /* byte of the pickle where it was made */
};

/* What a pickle makes: a dictionary of tensors; a list of texts; or a dictionary that says how the
 * numbers are stored. */
enum pickle_content { PICKLE_TENSORS, PICKLE_TEXTS, PICKLE_SYSTEM };

struct pickle {
    struct pickle_tensor *tensors; /* in the dictionary's order */
    size_t count, cap;
    char **texts; /* in the list's order */
    size_t text_count, text_cap;
    int little_endian; /* the dictionary says so */
    uint64_t bytes;    /* its length */
};

/* bytes[n] is a pickle; `name` stands in errors. After an error nothing is to be freed. */
int pickle_read(struct pickle *p, const void *bytes, uint64_t n, const char *name);
/* The same of one that is followed by other bytes, and whose content is as given. */
int pickle_read_first(struct pickle *p, enum pickle_content content, const void *bytes, uint64_t n,
                      const char *name);
void pickle_free(struct pickle *p);

#endif
