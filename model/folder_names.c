#include "model/folder_names.h"

#include <stdio.h>
#include <string.h>

#include "common/file.h"

/* Our table has the prefix for BERT, where the heads' names are without one. */
const char *folder_names_prefix(const struct model *m)
{
    return m->config.kind == MODEL_GPT ? "transformer." : "bert.";
}

static int begins_with(const char *name, const char *beginning)
{
    return !strncmp(name, beginning, strlen(beginning));
}

static const char *without_prefix(const struct model *m, const char *name)
{
    return begins_with(name, folder_names_prefix(m)) ? name + strlen(folder_names_prefix(m)) : name;
}

/* Room for a name and for one with its prefix; longer ones are of no row. */
enum { SPELLED = 2 * TENSOR_NAME, PREFIXED = SPELLED + 16 };

static const char *const norms[][2] = {
    { "LayerNorm.weight", "LayerNorm.gamma" },
    { "LayerNorm.bias", "LayerNorm.beta" },
};

/* Writes `name` with the norm's word of column `from`, if it ends with one, in that of column `to`.
 * 1 if so. */
static int respell(char out[SPELLED], const char *name, int from, int to)
{
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(name), end = strlen(norms[i][from]);
        if (file_ends_with(name, norms[i][from])) {
            snprintf(out, SPELLED, "%.*s%s", (int)(n - end), name, norms[i][to]);
            return 1;
        }
    }
    return 0;
}

/* With and without the prefix. */
static const struct safetensor *find_either(const struct model *m, const struct weights *set,
                                            const char *bare, const struct safetensors **file)
{
    const struct safetensor *t = weights_find(set, bare, file);
    char prefixed[PREFIXED];
    snprintf(prefixed, sizeof prefixed, "%s%s", folder_names_prefix(m), bare);
    return t ? t : weights_find(set, prefixed, file);
}

const struct safetensor *folder_names_find(const struct model *m, const struct weights *set,
                                           const char *name, const struct safetensors **file)
{
    const char *bare = without_prefix(m, name);
    const struct safetensor *t = find_either(m, set, bare, file);
    char old[SPELLED];
    return t || !respell(old, bare, 0, 1) ? t : find_either(m, set, old, file);
}

const struct tensor *folder_names_row(const struct model *m, const char *name)
{
    const char *bare = without_prefix(m, name);
    char today[SPELLED], prefixed[PREFIXED];
    if (respell(today, bare, 1, 0))
        bare = today;
    const struct tensor *row = tensor_find(&m->tensors, bare);
    snprintf(prefixed, sizeof prefixed, "%s%s", folder_names_prefix(m), bare);
    return row ? row : tensor_find(&m->tensors, prefixed);
}

const char *folder_names_tied_to(const struct model *m, const char *name)
{
    if (m->config.kind == MODEL_GPT)
        return strcmp(name, "lm_head.weight") ? NULL : "wte.weight";
    if (m->config.kind != MODEL_BERT_PRETRAINING)
        return NULL;
    if (!strcmp(name, "cls.predictions.decoder.weight"))
        return "bert.embeddings.word_embeddings.weight";
    return strcmp(name, "cls.predictions.decoder.bias") ? NULL : "cls.predictions.bias";
}

int folder_names_passed_over(const struct model *m, const char *name)
{
    static const char *const gpt[] = { "multiple_choice_head.", "score.", "classifier.",
                                       "qa_outputs." };
    static const char *const bert[] = { "embeddings.position_ids",
                                        "embeddings.token_type_ids",
                                        "pooler.",
                                        "cls.",
                                        "qa_outputs.",
                                        "classifier." };
    const char *bare = without_prefix(m, name);
    if (m->config.kind != MODEL_GPT) {
        for (size_t i = 0; i < sizeof bert / sizeof *bert; i++)
            if (begins_with(bare, bert[i]))
                return 1;
        return 0;
    }
    for (size_t i = 0; i < sizeof gpt / sizeof *gpt; i++)
        if (begins_with(bare, gpt[i]))
            return 1;
    return file_ends_with(bare, ".attn.bias") || file_ends_with(bare, ".attn.masked_bias");
}
