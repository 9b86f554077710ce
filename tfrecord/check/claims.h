/*
 * claims.h - whether files are what their manifest says of them, beyond names, sizes and checksums.
 *
 * Looked at are: layout, sequence_length, mask_tokens; records, sequences, tokens,
 * stride and remainder, efficiency and packing_factor; vocabulary (each id is below it), its
 * checksum's form, end_of_text; of a Megatron pair also documents. What files do not show (seed,
 * group, the documents of shards, provenance) only the manifest's own checksum protects.
 */
#ifndef TEXTMILL_TFRECORD_CHECK_CLAIMS_H
#define TEXTMILL_TFRECORD_CHECK_CLAIMS_H

#include "tfrecord/formats/manifest.h"
#include "tfrecord/formats/megatron.h"

/* The manifest of a folder of shards; reads all records, whose framing must be right. -1 with an
 * error that names `path`, the manifest's, or a record. */
int claims_check_shards(const struct manifest *m, const char *path, const char *dir);

/* The manifest of a Megatron pair; reads all tokens. */
int claims_check_pair(const struct manifest *m, const char *path, const struct megatron *pair);

#endif
