/*
 * packed.h - an input that may be compressed: gzip, Zstandard, bzip2, xz or lz4.
 *
 * The format is told by the first bytes, and never by the name. Streams end to end are one.
 * Checksums are compared; a stream that is damaged or cut short is an error with its byte.
 */
#ifndef TEXTMILL_TOKENIZER_INPUT_PACKED_H
#define TEXTMILL_TOKENIZER_INPUT_PACKED_H

#include "common/file.h"

/* What stands between the file and its unpacked bytes; stays where it is while `in` is open. */
struct packed {
    int is_packed;
    struct input file;
    struct compress_reader *reader;
    struct archived *archived;
};

/* Opens `in` for the unpacked bytes of a file; "-" is stdin. Its path is the file's. -1: an error,
 * and nothing is open. */
int packed_open(struct packed *p, struct input *in, const char *path);
void packed_close(struct packed *p, struct input *in);

/* The length of a name without the ending that a packed file has, such as ".gz". */
size_t packed_name(const char *path);

#endif
