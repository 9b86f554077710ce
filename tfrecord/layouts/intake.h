/*
 * intake.h - the documents of a token stream, as a layout wants them: those without tokens left
 * out, and end-of-text taken off their ends, so that the layout can put exactly one there.
 */
#ifndef TEXTMILL_TFRECORD_LAYOUTS_INTAKE_H
#define TEXTMILL_TFRECORD_LAYOUTS_INTAKE_H

#include <stddef.h>
#include <stdint.h>

#include "common/file.h"
#include "common/kv.h"
#include "common/stream.h"

struct intake {
    struct input in;
    struct stream_reader stream;
    int64_t end_of_text; /* -1: the vocabulary has none */
    uint32_t *ids;       /* of the document, the stream's; there is room for one more */
    size_t count;
    const uint32_t *sentence_ends; /* as they came: they may lie beyond `count` */
    size_t sentences;
    uint64_t documents, tokens; /* given out so far */
};

int intake_open(struct intake *s, const char *path); /* "-" is stdin */
void intake_close(struct intake *s);

/* The next document: 1, 0 when the stream ended as it should, -1. */
int intake_next(struct intake *s);

/* -1 when there is no end-of-text; `who` wants it. */
int intake_want_end_of_text(const struct intake *s, const char *who);

/* Adds to a manifest what the stream's header says of the vocabulary; and, to stand last, who
 * made the stream and, with `self`, the data. */
void intake_describe(const struct intake *s, struct kv *manifest);
void intake_provenance(const struct intake *s, struct kv *manifest, const char *self);

#endif
