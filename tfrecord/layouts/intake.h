/*
 * intake.h - reads the documents of a token stream for the layouts. It removes end-of-text from
 * their ends, so that a layout can add exactly one, and skips documents without tokens unless
 * `keeps_empty` is set.
 *
 * Spans (stream.h) say which tokens are labels. In a stream with spans `masked` is 1: ids that are
 * no labels have the bit IDS_UNCOUNTED, which the layout must handle, and an end-of-text at a
 * document's beginning is removed. `end` has the bit unless the document ended with an end-of-text
 * that is a label.
 */
#pragma once

#include "common/files/file.h"
#include "common/formats/kv.h"
#include "common/formats/stream.h"

struct intake {
    struct input in;
    struct stream_reader stream;
    int64_t end_of_text; /* -1: the vocabulary has none */
    int keeps_empty;     /* 1: documents without tokens are returned, too. Set by the caller */
    uint32_t *ids; /* ids of the document, owned by the stream; there is room for one more id */
    size_t count;
    uint32_t end;                  /* end-of-text, to be put after the document */
    int masked;                    /* 1: some ids have the bit IDS_UNCOUNTED */
    const uint32_t *sentence_ends; /* [sentences] ends as in the stream; they may be greater than
                                    * `count` */
    size_t sentences;
    uint64_t documents, tokens; /* returned so far */
};

/* Opens the stream of the file `path` ("-" is stdin). Returns 0, or -1 with an error and nothing to
 * close. */
int intake_open(struct intake *s, const char *path);
void intake_close(struct intake *s);

/* Reads the next document. Returns 1, 0 at the regular end of the stream, or -1 with an error. */
int intake_next(struct intake *s);

/* Returns 0, or -1 with an error if the vocabulary has no end-of-text. `who` names the layout that
 * needs it. */
int intake_want_end_of_text(const struct intake *s, const char *who);

/* intake_describe adds the lines of the stream's header about the vocabulary to a manifest.
 * intake_provenance adds the pg= lines of the programs that made the stream, and then `self`, this
 * program's line; it must be called last. */
void intake_describe(const struct intake *s, struct kv *manifest);
void intake_provenance(const struct intake *s, struct kv *manifest, const char *self);
