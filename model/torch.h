/*
 * torch.h - the file of named tensors that torch.save writes of a model's state. Since torch 1.6:
 *
 *     ROOT/data.pkl     a pickle of the names and of what is whose storage (pickle.h)
 *     ROOT/byteorder    "little"; older files have none
 *     ROOT/data/KEY     the numbers of a storage
 *
 * in a zip archive (zip.h) whose entries are stored as they are, with checksums, which are checked.
 * Before, one behind the other: pickles of a number that marks the file, of 1001, of the machine's
 * order of bytes, of the names and storages as above, of the storages' keys; then, in their order,
 * each storage's count of numbers (i64) and its numbers. A tensor is a view of a storage,
 * which others may share: it begins at an offset and goes on by strides. The file is mapped and
 * looked at as one of safetensors is. Nothing in it is executed.
 *
 * Refused: what stands in the archive and is no dictionary of tensors, a view that goes beyond its
 * storage or has more elements than it, and numbers in big-endian order.
 * Checked by tests/unit/test_torch.c, tests/fuzz/torch.c and tests/peers/folders.py.
 */
#ifndef TEXTMILL_MODEL_TORCH_H
#define TEXTMILL_MODEL_TORCH_H

#include "model/safetensors.h"

/* As safetensors_open, safetensors_parse; closed by safetensors_close. */
int torch_open(struct safetensors *s, const char *path);
int torch_parse(struct safetensors *s, const void *bytes, uint64_t n, const char *name);

#endif
