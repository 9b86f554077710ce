/*
 * listing.h - records as JSON lines.
 *
 *     {"input_ids":[464,1290,…],"weights":[1,0.5],"source":["wiki"]}
 *
 * Names in byte order. Floats have as many digits as tell them apart; not-a-number and the
 * infinities, which JSON has not, are null. Bytes that are no UTF-8 become {"hex":"ff00"}. A
 * Megatron sequence is {"input_ids":[…]}.
 */
#ifndef TEXTMILL_TFRECORD_CHECK_LISTING_H
#define TEXTMILL_TFRECORD_CHECK_LISTING_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/file.h"

/* Writes the records of a TFRecord file, or the sequences of the Megatron pair PREFIX: as many as
 * `limit` says (0: all). *shown is how many were, also after an error. */
int listing_records(const char *path, uint64_t limit, struct output *out, uint64_t *shown);
int listing_sequences(const char *prefix, uint64_t limit, struct output *out, uint64_t *shown);

/* Appends a tf.Example with its line end. -1 when it is none; `out` is then as before. */
int listing_example(struct buf *out, const void *data, size_t n);

#endif
