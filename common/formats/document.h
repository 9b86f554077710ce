/*
 * document.h - the document stream, which wikiprep writes and tokenize reads.
 *
 * The format is WikiExtractor's, so other tools can read it:
 *
 *     <!-- textmill documents 1 sentences=0 -->
 *     <doc id="12" url="https://…?curid=12" title="Moon">
 *     Moon
 *
 *     The Moon is …
 *
 *     </doc>
 *     <!-- end documents=1 -->
 *
 * In text, & < > are written as entities; in attributes also ". So tags are unambiguous. If the
 * first line is present, the last line must be present, too; otherwise the stream is incomplete,
 * which is an error. Files without both lines, such as WikiExtractor's own, are accepted. Several
 * streams may follow one another. With sentences=1 each line is a sentence and a blank line ends a
 * paragraph.
 */
#pragma once

#include "common/files/file.h"

struct document {
    struct buf id, url, title; /* values of the attributes, unescaped; empty if absent */
    struct buf more;           /* the other attributes, as they are written: ` lang="en"` */
    struct buf text; /* the lines, without white space at the end. The first line is left out if
                      * it equals `title`, or is perhaps a spelling of it before a blank line: then
                      * it becomes `title`. */
};

#define DOCUMENT_INIT                                                                              \
    {                                                                                              \
        BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT                                           \
    }
void document_release(struct document *d);

/* ---- writing (each appends to `out`) ------------------------------------------------------ */

void document_put_begin(struct buf *out, int sentences);
void document_put(struct buf *out, const struct document *d); /* from <doc to </doc> */
void document_put_end(struct buf *out, uint64_t documents);

/* Appends text with & < > as entities; attribute 1: and the quotation mark. */
void document_escape(struct buf *out, const char *s, size_t n, int attribute);

/* ---- reading ---------------------------------------------------------------------------- */

struct document_reader {
    struct input *in;   /* borrowed */
    int promised;       /* 1: the first line of the stream was there, its last line not yet */
    int sentences;      /* of the stream's first line; 0 if it has none */
    uint64_t documents; /* read so far of this stream */
    uint64_t offset;    /* byte offset of the current document */
};

void document_open(struct document_reader *r, struct input *in);

/* Reads the next document into *d, which begins as DOCUMENT_INIT and is reused. Returns 1, 0 at the
 * end, or -1 with an error that names the byte, also if the text is longer than r->in->most bytes
 * (0: no limit). */
int document_read(struct document_reader *r, struct document *d);

/* Appends the attributes `more`, with the attribute `name` added, or replaced if it is there. Its
 * value is escaped. */
void document_put_attribute(struct buf *out, const struct buf *more, const char *name,
                            const char *value);
