/*
 * saved.h - the tensors of a run in safetensors files: its weights, as in a model folder
 * (model/folder/folder.h), and the state of its optimizer (checkpoint.h).
 *
 *     DIR/model.safetensors                        DIR/training/optimizer.safetensors
 *
 * or, with one file for each block of the model and an index of them (model/formats/weights.h),
 *
 *     DIR/model-00001-of-00014.safetensors ... and DIR/model.safetensors.index.json
 *     DIR/training/optimizer-00001-of-00014.safetensors ... and optimizer.safetensors.index.json
 *
 * The bytes do not depend on the number of ranks, or on what they share. The first rank writes the
 * single file. The files of blocks are written by all ranks at the same time, each by one rank: the
 * ranks of the stage that owns the blocks (program.h) take turns. A writer gets each tensor from
 * the ranks that have parts of it, and has one tensor at a time in memory beside its store.
 *
 * A rank whose file cannot be written still sends its parts to the other writers. So all ranks must
 * call a function here for the same files.
 */
#pragma once

#include "common/formats/kv.h"
#include "model/formats/safetensors.h"
#include "model/network/model.h"
#include "train/ranks/comm.h"
#include "train/store/store.h"

#define SAVED_WORDS "auto|one|block" /* in the order of the enum */
enum saved_files { SAVED_AUTO, SAVED_ONE, SAVED_BLOCK };

/* Returns how a model with `bytes` bytes of weights is saved if the user does not choose: in one
 * file, or in one for each block if one file would be larger than 5 GB. */
enum saved_files saved_choice(uint64_t bytes);

/* Files whose bytes the system has, but perhaps not the disk. Zeroed: none. */
struct saved_open {
    struct saved_file {
        struct safetensors_writer writer;
        char *name; /* in the folder */
    } * files;
    size_t count, cap;
};

/* What is saved, and where to. All pointers are borrowed. */
struct saved {
    const char *dir;
    const struct model *model; /* the whole model */
    struct store *store;
    struct comm *comm;
    enum saved_files files;  /* SAVED_ONE or SAVED_BLOCK */
    struct saved_open *open; /* gets the files that this rank has written */
    struct kv *sums; /* gets the checksums (sums.h) of the files that this rank has written; NULL:
                      * they are not computed, as for a single file without a checkpoint */
};

enum saved_what { SAVED_WEIGHTS, SAVED_MOMENTS };

/* Writes the files with the weights or those with the optimizer's state. Weights are F32 or BF16 as
 * the store keeps them. `result` is the result of the previous work: if it is an error, this rank
 * writes nothing. Returns 0, or -1 with an error, on each rank about its own files. The store may
 * change afterwards, but the files are complete only after saved_close. */
int saved_write(const struct saved *to, enum saved_what of, int result);
/* Waits until the open files are on the disk, gives them their names, and computes their checksums;
 * if `result` is an error, drops them. Any thread may call it. Returns `result`, or -1 with an
 * error. */
int saved_close(const struct saved *to, int result);
/* Writes the index of these files, on one rank, after all ranks have written theirs and to->sums
 * has the checksums of all of them. Does nothing if there is a single file. Returns 0, or -1 with
 * an error. */
int saved_index(const struct saved *to, enum saved_what of);

/* Multiplies the weights in rows `first` to `end` - 1 of the tensor table, which are F32, by a
 * factor. All ranks must call it. */
void saved_scale(struct store *s, size_t first, size_t end, double factor);

/* Returns the most bytes that a rank needs for tensors while it writes the files. `own` is the
 * table of the rank's part of the model, `whole` that of the model. shared 1: ranks share the
 * moments. moved 1: the stages of a pipeline send tensors to the first rank, which writes one file.
 */
uint64_t saved_bytes(const struct tensor_table *own, const struct tensor_table *whole, int shared,
                     int moved);

/* Reads this rank's share of the moments from the folder `dir` into the store, from one file or
 * several. Returns 0, or -1 with an error. */
int saved_read_moments(const char *dir, struct store *s);
