#include "model/folder/folder_names.h"

#include "common/files/file.h"

static int begins_with(const char *name, const char *beginning)
{
    return !strncmp(name, beginning, strlen(beginning));
}

static const char *without_prefix(const struct model *m, const char *name)
{
    const char *prefix = m->config.architecture->prefix;
    return begins_with(name, prefix) ? name + strlen(prefix) : name;
}

/* Adds the submodule prefix if `name` lacks it. lm_head, an untied decoder's table, has none. */
void folder_names_saved(char out[FOLDER_NAME], const struct model *m, const char *name)
{
    int prefixed = m->config.architecture->bare && !begins_with(name, "lm_head.");
    snprintf(out, FOLDER_NAME, "%s%s", prefixed ? m->config.architecture->prefix : "", name);
}

/* If `name` ends with column `from` of a pair of spellings, writes it to `out` with that pair's
 * column `to` as its end and returns 1. Else returns 0. */
static int respell(char out[FOLDER_NAME], const struct model *m, const char *name, int from, int to)
{
    const char *const(*ends)[2] = m->config.architecture->respelled;
    for (int i = 0; ends && ends[i][0]; i++)
        if (file_ends_with(name, ends[i][from])) {
            size_t n = strlen(name) - strlen(ends[i][from]);
            snprintf(out, FOLDER_NAME, "%.*s%s", (int)n, name, ends[i][to]);
            return 1;
        }
    return 0;
}

/* Finds a tensor by its name `bare` without the prefix, then by its name with the prefix. Returns
 * it and sets *file to its file, or returns NULL. */
static const struct safetensor *find_either(const struct model *m, const struct weights *set,
                                            const char *bare, const struct safetensors **file)
{
    const struct safetensor *t = weights_find(set, bare, file);
    char prefixed[FOLDER_NAME];
    snprintf(prefixed, sizeof prefixed, "%s%s", m->config.architecture->prefix, bare);
    return t ? t : weights_find(set, prefixed, file);
}

const struct safetensor *folder_names_find(const struct model *m, const struct weights *set,
                                           const char *name, const struct safetensors **file)
{
    const char *bare = without_prefix(m, name);
    const struct safetensor *t = find_either(m, set, bare, file);
    char old[FOLDER_NAME];
    return t || !respell(old, m, bare, 0, 1) ? t : find_either(m, set, old, file);
}

const struct tensor *folder_names_row(const struct model *m, const char *name)
{
    const char *bare = without_prefix(m, name);
    char today[FOLDER_NAME], prefixed[FOLDER_NAME];
    if (respell(today, m, bare, 1, 0))
        bare = today;
    const struct tensor *row = tensor_find(&m->tensors, bare);
    snprintf(prefixed, sizeof prefixed, "%s%s", m->config.architecture->prefix, bare);
    return row ? row : tensor_find(&m->tensors, prefixed);
}

const char *folder_names_tied_to(const struct model *m, const char *name)
{
    const struct architecture_names *names = &m->config.architecture->names;
    const int decodes = m->config.head == HEAD_NEXT || m->config.head == HEAD_PRETRAINING;
    const size_t stem = decodes ? strlen(names->decoder) - strlen(".weight") : 0;
    if (!decodes || strncmp(name, names->decoder, stem) != 0)
        return NULL;
    return !strcmp(name + stem, ".weight") ? names->words
           : !strcmp(name + stem, ".bias") ? names->bias
                                           : NULL;
}

int folder_names_passed_over(const struct model *m, const char *name)
{
    const char *bare = without_prefix(m, name);
    for (const char *const *words = m->config.architecture->passed_over; *words; words++)
        if (**words == '.' ? file_ends_with(bare, *words) : begins_with(bare, *words))
            return 1;
    return 0;
}
