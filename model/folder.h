/*
 * folder.h - model folders as Hugging Face has them: config.json, model.safetensors (or what else
 * weights.h finds) and the tokenizer's files.
 */
#ifndef TEXTMILL_MODEL_FOLDER_H
#define TEXTMILL_MODEL_FOLDER_H

#include "model/model.h"

/* Reads DIR/config.json of a model whose architecture has `head`; others are errors. */
int folder_read_config(struct model_config *config, enum model_head head, const char *dir);

/* Opens DIR: reads the config, initialises *m with `head`, and loads all tensors into one array a
 * block (blocks[b], F32 of ops_buffer, allocated here: m->tensors.blocks of them). Files may
 * hold f64, f32, f16 or bf16; tensors may have any of the names of folder_names.h. A missing
 * tensor, a wrong shape and an unknown tensor are errors that name the tensor. Buffers that the
 * model makes itself, heads for other tasks and copies of tied tensors are passed over. Tensors of
 * the head that are not there are errors, or, if made is not NULL, get initial values from the
 * seed, and *made is how many did: so pre-training leads to question answering. */
int folder_load(struct model *m, struct ops *o, struct ops_array **blocks, const char *dir,
                enum model_head head, uint64_t seed, int *made);
/* The same of one rank's part: *m and the blocks are this rank's own (split.h). Each file is read
 * as a whole, tensor by tensor. split NULL: folder_load. */
struct split;
int folder_load_part(struct model *m, struct ops *o, struct ops_array **blocks, const char *dir,
                     enum model_head head, uint64_t seed, int *made, const struct split *split);
void folder_free_blocks(struct model *m, struct ops *o, struct ops_array *blocks);

/* Reads DIR as folder_load does, without initial values, and hands its tensors over one by one:
 * first `begin` sees the model, then `take` the numbers of each row of its table, as files have
 * them: where the row says `transposed`, that is [shape[1],shape[0]]. Either ends it by -1. */
int folder_each(struct model *m, const char *dir, enum model_head head,
                int (*begin)(void *ctx, const struct model *m),
                int (*take)(void *ctx, const struct model *m, size_t row, const float *numbers),
                void *ctx);

/* Writes config.json and, last, model.safetensors into DIR, which is made if need be: F32 or BF16,
 * as the blocks are. end_of_text: its id, or -1; encoders have none. */
int folder_save(const struct model *m, struct ops *o, const struct ops_array *blocks,
                const char *dir, int64_t end_of_text);

/* The same of blocks that are asked for one after the other, from the first on; a block may go when
 * the next one is asked for. */
struct folder_blocks {
    struct ops_array (*block)(const void *ctx, int block);
    const void *ctx;
    enum ops_type type; /* of all */
};
int folder_save_from(const struct model *m, struct ops *o, const struct folder_blocks *from,
                     const char *dir, int64_t end_of_text);

#endif
