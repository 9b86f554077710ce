/*
 * tf_checkpoint.h - reads a checkpoint of TensorFlow, as Google's archives of BERT hold it.
 *
 *     NAME.index                  a table of LevelDB: names, sorted, and the place of each tensor
 *     NAME.data-00000-of-00001    the numbers
 *
 * The table is a sequence of blocks. A block has entries, then the u32 positions of restarts and
 * their count, then a byte (0: not compressed) and the masked CRC32C of all this. An entry is three
 * varints (bytes shared with the key before, other bytes, bytes of the value), the other bytes of
 * the key, and the value. The file ends in 48 bytes: the places of two blocks, and a magic number.
 * The second of these blocks is the index. Its values are the places of all blocks of entries. The
 * value of the empty key is a BundleHeaderProto, each other value a BundleEntryProto.
 *
 * Tensors get the names that Hugging Face's models have, bert.encoder.layer.0.output.dense.weight
 * for bert/encoder/layer_0/output/dense/kernel. Kernels are there as views, transposed. An
 * optimizer's state (adam_m, adam_v) and tensors whose type is none of f32, f64, f16 and bf16 are
 * left out.
 *
 * Formats: https://github.com/google/leveldb/blob/main/doc/table_format.md and
 * tensorflow/core/protobuf/tensor_bundle.proto. Every block and every tensor that is read has its
 * checksum compared. Errors: compressed tables, numbers in several files or in big-endian order,
 * and partitioned tensors. Checked by tests/golden/train/train-tf-checkpoint, whose files
 * TensorFlow wrote, and tests/fuzz/tf_checkpoint.c.
 */
#pragma once

#include "model/formats/safetensors.h"

/* Opens the checkpoint whose index is the file `path`, which ends in ".index". *s then stands for
 * the file of numbers. Returns 0, or -1 with an error. Close with safetensors_close. */
int tf_checkpoint_open(struct safetensors *s, const char *path);

/* Adds the tensors in the n bytes of an index, called `name` in errors, to *s, whose file of
 * numbers is open. Returns 0, or -1 with an error. */
int tf_checkpoint_parse(struct safetensors *s, const void *index, uint64_t n, const char *name);
