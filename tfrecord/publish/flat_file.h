/*
 * flat_file.h - a token stream made into one file of ids for nanoGPT or llm.c (flat_tokens.h),
 * which appears when it is complete. Documents keep their order.
 */
#ifndef TEXTMILL_TFRECORD_PUBLISH_FLAT_FILE_H
#define TEXTMILL_TFRECORD_PUBLISH_FLAT_FILE_H

#include "tfrecord/formats/flat_tokens.h"
#include "tfrecord/layouts/intake.h"

struct flat_file {
    const char *path;
    enum flat_kind kind;
    void (*written)(uint64_t documents); /* told now and then */

    uint64_t tokens; /* the result: end-of-text counts */
};

/* -1 also for a vocabulary that does not fit the ids, without end-of-text, or for more ids than a
 * header can say; then there is no file. */
int flat_file_write(struct flat_file *f, struct intake *s);

#endif
