/*
 * torch.h - the file of named tensors that torch.save writes of a model's state, since torch 1.6.
 *
 *     ROOT/data.pkl     a pickle of the names and of what is whose storage (pickle.h)
 *     ROOT/byteorder    "little"; older files have none
 *     ROOT/data/KEY     the numbers of a storage
 *
 * in a zip archive (zip.h) whose entries are stored as they are. A tensor is a view of a storage,
 * which others may share: it begins at an offset and goes on by strides. The file is mapped and
 * looked at as one of safetensors is. Nothing in it is executed. Sums of all entries are checked.
 *
 * Refused: what stands in the archive and is no dictionary of tensors, a view that goes beyond its
 * storage or has more elements than it, numbers in big-endian order, and the format before 1.6.
 * Checked by tests/unit/test_torch.c, tests/fuzz/torch.c and tests/peers/folders.py.
 */
#ifndef TEXTMILL_TORCH_H
#define TEXTMILL_TORCH_H

#include "model/safetensors.h"

/* As safetensors_open, safetensors_parse; closed by safetensors_close. */
int torch_open(struct safetensors *s, const char *path);
int torch_parse(struct safetensors *s, const void *bytes, uint64_t n, const char *name);

#endif
