/*
 * save_model.h - writes a model folder for a test. Programs write theirs with train/saved.h.
 */
#pragma once

#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/files/file.h"
#include "model/folder/folder.h"
#include "model/formats/safetensors.h"
#include "tests/unit/set_path.h"

static inline int save_weights(const struct model *m, struct ops *o, const struct ops_array *blocks,
                               const char *path)
{
    const struct tensor_table *table = &m->tensors;
    struct safetensor *tensors = mem_zalloc(table->count, sizeof *tensors);
    for (size_t i = 0; i < table->count; i++)
        folder_describe(&tensors[i], m, &table->rows[i], blocks[0].type);
    struct safetensors_writer w;
    int failed = safetensors_create(&w, path, tensors, table->count);
    for (size_t i = 0; i < table->count && failed == 0; i++) {
        const struct tensor *row = &table->rows[i];
        failed = folder_write_tensor(&w, row, o, ops_part(blocks[row->block], row->offset));
        if (failed < 0)
            safetensors_abandon(&w);
    }
    if (failed == 0)
        failed = safetensors_finish(&w);
    for (size_t i = 0; i < table->count; i++)
        free(tensors[i].name);
    free(tensors);
    return failed;
}

/* Writes config.json and then model.safetensors into `folder`. The type of the blocks, F32 or BF16,
 * becomes the type in the file. end_of_text: the token's id, or -1 for none. Returns 0, or -1 with
 * an error. */
static inline int save_whole_model(const struct model *m, struct ops *o,
                                   const struct ops_array *blocks, const char *folder,
                                   int64_t end_of_text)
{
    struct buf path = BUF_INIT;
    uint32_t end = (uint32_t)end_of_text;
    const struct ids ends = { &end, end_of_text >= 0, 1 };
    int failed = folder_save_config(m, blocks[0].type, folder, -1, &ends, -1, NULL);
    set_path(&path, folder, "model.safetensors");
    if (failed == 0)
        failed = save_weights(m, o, blocks, path.data);
    buf_release(&path);
    return failed;
}
