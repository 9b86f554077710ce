#include "train/sums.h"

#include "common/files/file.h"

/* ---- adding ---------------------------------------------------------------------------------- */

int sums_add_file(struct kv *state, const char *dir, const char *name)
{
    SCOPED(buf) path = file_path(dir, name);
    SCOPED_BY(file_unmap) struct file_map map = { 0 };
    if (file_map(&map, path.data) < 0)
        return -1;
    kv_addf(state, "file", "%s %" PRIu64 " %08x", name, map.bytes,
            file_map_sum(&map, 0, map.bytes));
    return 0;
}

int sums_of_file(const struct kv *state, const char *name, uint32_t *crc)
{
    const size_t n = strlen(name);
    for (size_t i = 0; i < state->count; i++) {
        const struct kv_pair *pair = &state->pairs[i];
        if (!strcmp(pair->key, "file") && !strncmp(pair->value, name, n) && pair->value[n] == ' ')
            return sscanf(pair->value + n, "%*u %" SCNx32, crc) == 1;
    }
    return 0;
}

int sums_add(struct kv *state, const char *dir, const char *sub)
{
    SCOPED(buf) folder = file_path(dir, sub);
    SCOPED(file_names) names = { 0 };
    uint32_t crc;
    int result = file_list(&names, folder.data, "");
    for (size_t i = 0; !result && i < names.count; i++) {
        SCOPED(buf) path = file_path(folder.data, names.names[i]),
                    name = buf_format("%s%s", sub, names.names[i]);
        const int kind = file_look(path.data);
        if (kind < 0 || (kind != FILE_FOLDER && !sums_of_file(state, name.data, &crc) &&
                         sums_add_file(state, dir, name.data) < 0))
            result = -1;
    }
    return result;
}

/* Compares two lines of files by folder, then by name. */
static int by_file(const void *a, const void *b)
{
    const struct kv_pair *s = a, *t = b;
    const int s_inside = strchr(s->value, '/') != NULL, t_inside = strchr(t->value, '/') != NULL;
    return s_inside != t_inside ? s_inside - t_inside : strcmp(s->value, t->value);
}

void sums_sort(struct kv *sums)
{
    mem_sort(sums->pairs, sums->count, by_file);
}

/* ---- checking -------------------------------------------------------------------------------- */

int sums_judge(const char *path)
{
    const int kind = file_look(path);
    return kind < 0 || kind == FILE_PLAIN ? -1 : SUMS_DAMAGED;
}

/* Checks the file of a line of `state`. Returns as sums_check does. */
static int check_line(const char *dir, const struct kv_pair *line)
{
    char name[256] = "";
    uint64_t bytes;
    uint32_t crc, now;
    int end = 0;
    SCOPED_BY(file_unmap) struct file_map map = { 0 };
    const int parts = sscanf(line->value, "%255s %" SCNu64 " %" SCNx32 "%n", name, &bytes, &crc,
                             &end);
    SCOPED(buf) path = file_path(dir, name);
    if (parts != 3 || line->value[end])
        err_set("'file=%s' is not NAME BYTES CRC32C", line->value);
    else if (file_map(&map, path.data) < 0)
        return sums_judge(path.data);
    else if (map.bytes != bytes)
        err_set("'%s' is damaged: the file has %" PRIu64 " bytes and should have %" PRIu64,
                path.data, map.bytes, bytes);
    else if ((now = file_map_sum(&map, 0, bytes)) != crc)
        err_set("'%s' is damaged: its checksum is %08x and should be %08x", path.data, now, crc);
    else
        return 0;
    return SUMS_DAMAGED;
}

int sums_check(const struct kv *state, const char *dir, int rank, int ranks)
{
    int files = 0, result = 0;
    for (size_t i = 0; i < state->count && !result; i++)
        if (!strcmp(state->pairs[i].key, "file") && files++ % ranks == rank)
            result = check_line(dir, &state->pairs[i]);
    if (result || files)
        return result;
    err_set("no file is listed");
    return SUMS_DAMAGED;
}
