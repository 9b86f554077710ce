/*
 * flat_file.h - writes a token stream as one file of ids for nanoGPT or llm.c (flat_tokens.h). The
 * file appears only when it is complete. Documents keep their order.
 */
#pragma once

#include "tfrecord/formats/flat_tokens.h"
#include "tfrecord/layouts/intake.h"

struct flat_file {
    const char *path;
    int llmc; /* 1: for llm.c; 0: for nanoGPT */

    uint64_t tokens; /* result; includes end-of-text */
};

/* Writes the file. Returns 0, or -1 with an error; then no file appears. It is also an error if the
 * vocabulary does not fit the id type or has no end-of-text, or if there are more ids than the
 * header can count. */
int flat_file_write(struct flat_file *f, struct intake *s);
