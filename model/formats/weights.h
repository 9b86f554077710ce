/*
 * weights.h - opens the files of a model folder that hold its tensors: the first one that exists of
 *
 *     model.safetensors
 *     model.safetensors.index.json    names the file of each tensor, {"weight_map":{...}}
 *     pytorch_model.bin               written by torch.save (torch.h)
 *     pytorch_model.bin.index.json    names the file of each tensor, as above
 *     bert_model.ckpt.index           written by TensorFlow (tf_checkpoint.h)
 *     model.ckpt.index                the same
 */
#pragma once

#include "model/formats/safetensors.h"

enum { WEIGHTS_NAME = 64 }; /* bytes for the name of a file that weights_file_name makes */

struct weights {
    struct safetensors *files;
    size_t count, cap;
    struct weights_sum {
        uint32_t crc;
        int known;
    } * sums; /* [count]: the checksums that an index gives for its files; NULL: no index */
};

/* Opens the files of the folder `dir`. Returns 0, or -1 with an error that names the file. If none
 * of the files exists but `dir` has a weight file of another format, the error names that. */
int weights_open(struct weights *w, const char *dir);
/* Opens dir/BASE.safetensors, or the files that the index dir/BASE.safetensors.index.json names.
 * Returns 0, or -1 with an error. */
int weights_open_base(struct weights *w, const char *dir, const char *base);
/* Compares the files with the checksums in the index or in themselves; of `ranks` ranks that share
 * the work, rank `rank` takes each `ranks`-th file. Files of other programs have no checksums.
 * Returns 0, or -1 with an error that names a file that is damaged or from another folder. */
int weights_check(const struct weights *w, int rank, int ranks);
void weights_close(struct weights *w);

/* Finds a tensor in any of the files and sets *file to the file. Returns NULL if there is none. */
const struct safetensor *weights_find(const struct weights *w, const char *name,
                                      const struct safetensors **file);

/* ---- writing ----------------------------------------------------------------------------- */

/* Writes the name of file `file`, counted from 0, of `files` files into `out`:
 * BASE-00001-of-00003.safetensors, or BASE.safetensors if files is 0. */
void weights_file_name(char out[WEIGHTS_NAME], const char *base, int file, int files);
/* Writes the index dir/BASE.safetensors.index.json of `count` tensors: tensor i is in file[i]. It
 * has the form in which the transformers library writes it, and also the checksum crc[] (CRC32C) of
 * each of the `files` files, as "crc32c" in "metadata". Returns 0, or -1 with an error. */
int weights_write_index(const char *dir, const char *base, const struct safetensor *tensors,
                        const int *file, size_t count, const uint32_t *crc, int files);
/* Removes from `dir` the index dir/BASE.safetensors.index.json and then all files with names of
 * weights_file_name for several files, whatever their number. With one 1, it also removes
 * dir/BASE.safetensors. Syncs the folder. Returns 0, or -1 with an error. */
int weights_remove(const char *dir, const char *base, int one);
