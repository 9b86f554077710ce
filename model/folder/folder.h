/*
 * folder.h - reads and writes model folders in Hugging Face's layout: config.json,
 * model.safetensors (or the other weight files that weights.h accepts) and the tokenizer's files.
 */
#pragma once

#include "common/base/ids.h"
#include "common/formats/gguf.h"
#include "model/formats/matrix.h"
#include "model/formats/weights.h"
#include "model/network/model.h"

/* Checks that `path` is a GGUF file or a folder with a config.json, before it is opened. Returns 0,
 * or -1 with an error. */
int folder_check(const char *path);

/* Does what folder_check does, and checks the weights against textmill's checksums (weights_check).
 * Returns 0, or -1 with an error that names the file and says how to use it as it is. */
int folder_verify(const char *path, int rank, int ranks);

/* Sets *hash to a hash of the sizes, the first and the last 64 KiB of the files of the weights, by
 * which ranks notice that they have different models. Files that textmill wrote have a checksum of
 * all their weights in the first 64 KiB.
 * Returns 0, or -1 with an error. */
int folder_hash_ends(uint64_t *hash, const char *path);

/* Reads dir/config.json, or the keys of a GGUF file. The architecture must support `head`. Returns
 * 0, or -1 with an error. */
int folder_read_config(struct model_config *config, enum model_head head, const char *dir);

/* Sets *head to the head of the folder's model (architecture_head). Returns 0; -1 with an error. */
int folder_head(enum model_head *head, const char *dir);

/* Appends to `ends` the ids of the tokens that end a text. A folder has them in
 * generation_config.json or, if that names none, in config.json (eos_token_id, an id or a list of
 * ids, else an error); a GGUF file has those that end a text, turn, message or file. `sampling`,
 * unless NULL, gets the lines of the other settings of generation_config.json. Returns 0, or -1
 * with an error. */
int folder_ends(struct ids *ends, struct buf *sampling, const char *path);

/* Loads the folder `dir`: reads the config, initialises *m with `head`, and reads all tensors into
 * one F32 array for each block. Allocates *blocks with m->tensors.blocks arrays (free with
 * folder_free_blocks). Files may hold f64, f32, f16 or bf16. Tensors may have any of the names of
 * folder_names.h. Ignores known buffers, heads for other tasks, and copies of tied tensors. Returns
 * 0, or -1 with an error that names the tensor if a tensor is missing, unknown, or has a wrong
 * shape. If made is not NULL, missing tensors of the head are no error: they get initial values
 * from the seed, and *made is set to their number. So a pre-trained encoder can get a new head for
 * question answering. */
int folder_load(struct model *m, struct ops *o, struct ops_array **blocks, const char *dir,
                enum model_head head, uint64_t seed, int *made);
void folder_free_blocks(struct model *m, struct ops *o, struct ops_array *blocks); /* or NULL */

/* Checks that the machine has memory for these bytes of the model in `dir`. Without the check a
 * signal would end the process. `as` is a part of the error. Returns 0, or -1 with an error. */
int folder_check_machine(const char *dir, uint64_t bytes, const char *as);

/* The files of a model: those of a folder, or a GGUF file. */
struct folder_files {
    struct weights weights;
    struct gguf gguf; /* its path is NULL if the model is a folder */
};

/* Initialises *m from a folder or a GGUF file, and opens and checks its files as folder_load does,
 * but reads no tensor yet. `wanted` gives the head, and the classes if the model has none. Returns
 * 0, or -1 with an error. */
int folder_open(struct model *m, struct folder_files *files, const char *path,
                const struct model_config *wanted, int *made);
void folder_close(struct folder_files *files); /* fine on a zeroed struct */

/* Reads a folder or a GGUF file block by block, for one rank. folder_reader_open opens it with
 * folder_open. *m becomes the rank's part of the model (split.h); split NULL: the whole model.
 * folder_reader_block sets *parameters to a new array with the elements first to first + n - 1 of
 * the rank's part of a block, which the caller frees with ops_buffer_free. It reads only the
 * tensors that have some of these elements. Of a tensor that is partly outside it reads only the
 * elements inside, unless ranks share the tensor, or the file is GGUF or holds it transposed. Both
 * return 0, or -1 with an error. */
struct folder_reader {
    struct model whole;
    struct folder_files files;
    struct pool *pool; /* converts the tensors of a GGUF file; NULL: a folder */
    uint64_t seed;
};
struct split;
int folder_reader_open(struct folder_reader *r, struct model *m, const char *path,
                       const struct model_config *wanted, const struct split *split, uint64_t seed,
                       int *made);
int folder_reader_block(const struct folder_reader *r, const struct model *m, struct ops *o,
                        int block, int64_t first, int64_t n, struct ops_array *parameters);
void folder_reader_close(struct folder_reader *r); /* fine on a zeroed struct */

/* Sets *x to the tensor in row `row` of the table, from a folder's files; a linear map has the
 * shape [out,in] there. *copy is set to memory that *x uses and the caller frees, or to NULL if *x
 * is in the mapped file. Returns 0, or -1 with an error. */
int folder_matrix(struct matrix *x, unsigned char **copy, const struct model *m,
                  const struct weights *files, size_t row);

/* The following functions write a model folder. folder_save_config writes config.json into `dir`
 * and creates this folder if needed. For a decoder whose texts have end tokens (`ends`, the usual
 * one first) it also writes generation_config.json; `sampling` is lines to add there, or NULL.
 * `begin` is the token that begins a text, and `pad` the padding token; -1 stands for the first of
 * `ends`. `type` is the type of the weights, F32 or BF16. Returns 0, or -1 with an error. */
int folder_save_config(const struct model *m, enum ops_type type, const char *dir, int64_t begin,
                       const struct ids *ends, int64_t pad, const char *sampling);

/* Sets *t to the description of a tensor in the header of a weights file. The caller frees
 * t->name. */
void folder_describe(struct safetensor *t, const struct model *m, const struct tensor *row,
                     enum ops_type type);

/* Writes tensor[], which has the row's shape, in the layout of weights files. Returns 0, or -1 with
 * an error. */
int folder_write_tensor(struct safetensors_writer *w, const struct tensor *row, struct ops *o,
                        struct ops_array tensor);
