/*
 * torch.h - reads the file of named tensors that torch.save writes for a model's state.
 *
 * Since torch 1.6 (2020) it is a zip archive of uncompressed entries, whose checksums are
 * verified:
 *
 *     ROOT/data.pkl     a pickle of the tensors' names and their storages (pickle.h)
 *     ROOT/byteorder    "little"; older files have none
 *     ROOT/data/KEY     the numbers of a storage
 *
 * A tensor is a view of a storage: it begins at an offset and has strides. Several tensors may
 * share a storage. The file is mapped and used like a safetensors file. Nothing in it is executed.
 *
 * Errors: an archive that holds no dictionary of tensors, a view that reaches beyond its storage or
 * has more elements than it, and big-endian numbers. Checked by
 * tests/unit/model/formats/test_torch.c, tests/fuzz/torch.c and tests/peers/folders.py.
 */
#pragma once

#include "model/formats/safetensors.h"

/* Open a file, or bytes in memory, as safetensors_open and safetensors_parse do. Close with
 * safetensors_close. */
int torch_open(struct safetensors *s, const char *path);
int torch_parse(struct safetensors *s, const void *bytes, uint64_t n, const char *name);
