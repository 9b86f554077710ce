/*
 * claims.h - checks that the content of files agrees with their manifest, beyond names, sizes and
 * checksums.
 *
 * It checks: layout, sequence_length, mask_tokens; records, sequences, tokens, stride and
 * remainder, efficiency and packing_factor; vocabulary (each id must be below it), the form of its
 * checksum, end_of_text; for a Megatron pair also documents. Values that the files do not show
 * (seed, group, the documents of shards, provenance) are protected by the manifest's own checksum
 * only.
 */
#pragma once

#include "tfrecord/formats/manifest.h"
#include "tfrecord/formats/megatron.h"

/* Checks the manifest of a folder of shards. Reads all records, whose framing must be valid.
 * Returns 0, or -1 with an error that names the record, or `path`, the path of the manifest. */
int claims_check_shards(const struct manifest *m, const char *path, const char *dir);

/* Checks the manifest of a Megatron pair. Reads all tokens. Returns 0, or -1 with an error. */
int claims_check_pair(const struct manifest *m, const char *path, const struct megatron *pair);
