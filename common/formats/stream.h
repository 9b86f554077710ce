/*
 * stream.h - the token stream, which tokenize writes and tfwrite reads.
 *
 * A stream is a sequence of frames: the payload's length as 8 lower-case hex digits, a checksum as
 * 8 digits, then the payload. The checksum is the CRC32C of the frame's number (u64), the length
 * (u32) and the payload, so changed, lost and moved frames are found. The header has number 0,
 * documents count from 1, the end mark has the number after the last document, and the tokenizer's
 * frame has a number with all bits set. The first frame is a key=value header (kv.h):
 *
 *     textmill=tokens 2       kind and version of the stream
 *     dtype=u16               u16 or u32, width of an id
 *     vocabulary=50257        number of ids
 *     checksum=9f0c…          of the vocabulary (hex; equal checksums mean equal ids)
 *     end_of_text=50256       absent when the vocabulary has none
 *     pad= unk= cls= sep= mask=  ids of BERT's special tokens; absent without them
 *     sentences=1             1 when the frames carry sentence ends
 *     spans=1                 1 when the frames carry ends of spans instead: in turn tokens that
 *                             are no labels and tokens that are; absent if all tokens are labels
 *     tokenizer=tokenizer.json  the second frame is the vocabulary as such a file; may be absent
 *     pg=tokenize …           one line a tool, in the order they ran
 *
 * The tokenizer frame lets a data set keep the vocabulary that made it. Each further frame is one
 * document: u32 S; u32 ends[S], the token index after each sentence or span (S = 0 without them);
 * then the ids. All numbers are little-endian. A frame of length zero is the end mark. A stream
 * without an end mark is incomplete, because its writer died; reading it is an error, so that it is
 * not taken for a shorter data set.
 *
 * Version 1 has no checksums: the payload follows its length. It is still read, but no longer
 * written.
 */
#pragma once

#include "common/files/file.h"
#include "common/formats/kv.h"

enum { STREAM_FRAME_MAX = 1 << 30 }; /* most bytes of a payload; a longer one is an error */

/* Writes the header of a stream. `header` has the header lines above, except the first line and
 * tokenizer=. `tokenizer` is the text of tokenizer.json; NULL: none. Returns 0, or -1 with an
 * error. */
int stream_begin(struct output *out, const struct kv *header, const struct buf *tokenizer);
/* Writes the end mark after `documents` documents. Does not close `out`. Returns 0, or -1 with an
 * error. */
int stream_end(struct output *out, uint64_t documents);

/* Appends document `number` (from 1) to `frame` as a frame, with `width` bytes per id: 2 or 4, as
 * the header's dtype says. Callers may make frames on several threads; they write the frames in
 * order with output_write. Returns 0, or -1 with an error if the document is too long. */
int stream_frame(struct buf *frame, uint64_t number, int width, const uint32_t *ids, size_t n,
                 const uint32_t *sentence_ends, size_t sentences);

struct stream_document {
    uint32_t *ids, *sentence_ends; /* owned by the reader; valid until the next stream_read */
    size_t count, sentences;
};

struct stream_reader {
    struct input *in; /* borrowed */
    struct kv header;
    struct buf tokenizer; /* text of tokenizer.json; empty if the stream has none */
    int width;            /* bytes of an id: 2 or 4 */
    int unchecked;        /* 1: version 1, which has no checksums */
    uint64_t vocabulary;  /* number of ids; each id must be below it */
    uint64_t documents;   /* documents read so far */
    struct stream_document document;
    size_t ids_cap, ends_cap;
};

/* Reads and checks the header, and reads the tokenizer. Returns 0, or -1 with an error. Call
 * stream_reader_release at the end, also after an error. */
int stream_open(struct stream_reader *r, struct input *in);

/* Reads the next document into r->document. Returns 1, 0 at the end mark, after which nothing may
 * follow, or -1 with an error that names the document and the byte. */
int stream_read(struct stream_reader *r);
void stream_reader_release(struct stream_reader *r);
