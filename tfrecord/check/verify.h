/*
 * verify.h - is a file of this folder's formats whole, and does it say what its index and its
 * manifest say?
 */
#ifndef TEXTMILL_TFRECORD_CHECK_VERIFY_H
#define TEXTMILL_TFRECORD_CHECK_VERIFY_H

#include <stdint.h>

struct verify {
    void (*good)(const char *line); /* "<file>: ok, …" */
    void (*bad)(const char *error); /* names file, record and byte offset */
    uint64_t files, failed, bytes;
};

/* `path` is a TFRecord file: all CRCs, the index beside it if there is one, and the manifest
 * beside it if that lists it. Or a Megatron pair: the whole of .idx against .bin, and its
 * manifest. Or a folder: all that is in it, and that its manifest's files are there; then its
 * folder `validation` in the same way. */
void verify_path(struct verify *v, const char *path);

#endif
