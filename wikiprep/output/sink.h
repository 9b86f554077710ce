/*
 * sink.h - where documents go: a stream, or WikiExtractor's tree of files.
 *
 *     DIR/AA/wiki_00 … AA/wiki_99, AB/wiki_00 … ZZ/wiki_99, AAA/wiki_00 …
 *     DIR/manifest     key=value: what the tree holds; there only when it is whole
 *
 * A file is closed before the document that would make it larger than the limit; a document is
 * never split. The tree is written as DIR.tmp-<pid> and renamed when it is whole, so that a run
 * that fails leaves nothing under DIR. A tree that an earlier run wrote is replaced in one step,
 * where the file system can swap two names; any other folder that is not empty is left alone, and
 * that is an error.
 */
#ifndef TEXTMILL_WIKIPREP_OUTPUT_SINK_H
#define TEXTMILL_WIKIPREP_OUTPUT_SINK_H

#include <stdint.h>

#include "common/buf.h"
#include "common/document.h"
#include "common/file.h"
#include "common/kv.h"

enum sink_format {
    SINK_DOCUMENTS,
    SINK_JSON,
    SINK_CLASSIC /* documents without the stream's first and last line */
};

struct sink {
    enum sink_format format;
    int sentences;        /* the documents' lines are sentences */
    char *dir, *temp;     /* NULL for a stream */
    int lock;             /* descriptor of the folder `temp`: a sign of life */
    uint64_t limit_bytes; /* of a file; 0: one document a file */
    struct output out;    /* the file at hand */
    int is_open;
    uint64_t in_file; /* documents in it */
    uint64_t files, documents, bytes;
    struct buf piece;
};

/* To be called before one looks what stands at `dir`: 1 when a killed run had moved a finished tree
 * away to replace it, and the tree is in its place again; else 0, or -1. */
int sink_recover(const char *dir);

/* `dir` NULL: stdout, on which nothing appears before the first document or the end. */
int sink_open(struct sink *s, const char *dir, uint64_t limit_bytes, enum sink_format format,
              int sentences);

/* Writes a document: bytes that were made on any thread. */
int sink_write(struct sink *s, const struct buf *document);

/* Publishes; `more` lines go into the manifest. -1: nothing was published. */
int sink_close(struct sink *s, const struct kv *more);
void sink_abandon(struct sink *s); /* fine on a zeroed struct, and after sink_close */

#endif
