/*
 * listing.h - prints records as JSON lines.
 *
 *     {"input_ids":[464,1290,…],"weights":[1,0.5],"source":["wiki"]}
 *
 * Names are in byte order. Floats have as many digits as needed to read back the same value. NaN
 * and the infinities, which JSON lacks, become null. Bytes that are no UTF-8 become {"hex":"ff00"}.
 * A Megatron sequence is {"input_ids":[…]}.
 */
#pragma once

#include "common/files/file.h"

/* Write the records of a TFRecord file, or the sequences of the Megatron pair PREFIX, to `out`; at
 * most `limit` of them (0: all). *shown is set to the number written, also after an error. Return
 * 0, or -1 with an error. */
int listing_records(const char *path, uint64_t limit, struct output *out, uint64_t *shown);
int listing_sequences(const char *prefix, uint64_t limit, struct output *out, uint64_t *shown);

/* Appends the tf.Example data[0..n) to `out` as a JSON line. Returns 0, or -1 with an error if the
 * data is not a tf.Example; then `out` is unchanged. */
int listing_example(struct buf *out, const void *data, size_t n);
