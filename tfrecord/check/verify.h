/*
 * verify.h - checks that TFRecord files and Megatron pairs are undamaged and agree with their index
 * and manifest.
 */
#pragma once

#include "tfrecord/formats/manifest.h"

struct verify {
    int (*good)(const char *line);  /* "<file>: ok, …"; what it returns is not used */
    void (*bad)(const char *error); /* the error, which names file, record and byte offset */
    uint64_t files, failed, bytes;
    struct manifest beside; /* of the single file that was checked last; the caller releases it */
};

/* Verifies `path`. For a TFRecord file: all CRCs, the index beside it if there is one, and the
 * manifest beside it if it lists the file. For a Megatron pair: all of .idx against .bin, and its
 * manifest. For a folder: all files in it, and that all files listed in its manifest exist; then
 * its folder `validation` in the same way. */
void verify_path(struct verify *v, const char *path);
