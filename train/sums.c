#include "train/sums.h"

#include "common/files/file.h"
#include "model/formats/safetensors.h"

/* ---- adding ---------------------------------------------------------------------------------- */

static int add_tensors(struct kv *state, const char *path, const char *name)
{
    struct safetensors s;
    if (safetensors_open(&s, path) < 0)
        return -1;
    for (size_t i = 0; i < s.count; i++) {
        const struct safetensor *t = &s.tensors[i];
        kv_addf(state, "tensor", "%s %" PRIu64 " %" PRIu64 " %08x %s", name, t->offset, t->bytes,
                file_map_sum(&s.map, t->offset, t->bytes), t->name);
    }
    safetensors_close(&s);
    return 0;
}

int sums_add_file(struct kv *state, const char *dir, const char *name)
{
    SCOPED(buf) path = file_path(dir, name);
    struct file_map map;
    if (file_map(&map, path.data) < 0)
        return -1;
    kv_addf(state, "file", "%s %" PRIu64 " %08x", name, map.bytes,
            file_map_sum(&map, 0, map.bytes));
    file_unmap(&map);
    return file_ends_with(name, ".safetensors") ? add_tensors(state, path.data, name) : 0;
}

/* Returns 1 if the line is that of the file `name`, else 0. */
static int is_of(const struct kv_pair *pair, const char *name)
{
    const size_t n = strlen(name);
    return !strcmp(pair->key, "file") && !strncmp(pair->value, name, n) && pair->value[n] == ' ';
}

static int is_listed(const struct kv *state, const char *name)
{
    for (size_t i = 0; i < state->count; i++)
        if (is_of(&state->pairs[i], name))
            return 1;
    return 0;
}

int sums_of_file(const struct kv *state, const char *name, uint32_t *crc)
{
    for (size_t i = 0; i < state->count; i++)
        if (is_of(&state->pairs[i], name))
            return sscanf(state->pairs[i].value, "%*s %*u %" SCNx32, crc) == 1;
    return 0;
}

int sums_add(struct kv *state, const char *dir, const char *sub)
{
    SCOPED(buf) folder = file_path(dir, sub);
    SCOPED(file_names) names = { 0 };
    int result = file_list(&names, folder.data, "");
    for (size_t i = 0; !result && i < names.count; i++) {
        SCOPED(buf) path = file_path(folder.data, names.names[i]),
                    name = buf_format("%s%s", sub, names.names[i]);
        const int kind = file_look(path.data);
        if (kind < 0)
            result = -1;
        else if (kind != FILE_FOLDER && !is_listed(state, name.data))
            result = sums_add_file(state, dir, name.data);
    }
    return result;
}

/* Compares two lines of files by folder, then by name. */
static int by_file(const void *a, const void *b)
{
    const struct kv_pair *s = *(const struct kv_pair *const *)a;
    const struct kv_pair *t = *(const struct kv_pair *const *)b;
    const int s_inside = strchr(s->value, '/') != NULL, t_inside = strchr(t->value, '/') != NULL;
    return s_inside != t_inside ? s_inside - t_inside : strcmp(s->value, t->value);
}

void sums_sort(struct kv *state, const struct kv *sums)
{
    SCOPED_MEM const struct kv_pair **files = mem_alloc((sums->count + 1) * sizeof *files);
    size_t count = 0;
    for (size_t i = 0; i < sums->count; i++)
        if (!strcmp(sums->pairs[i].key, "file"))
            files[count++] = &sums->pairs[i];
    qsort(files, count, sizeof *files, by_file);
    for (size_t i = 0; i < count; i++) {
        const struct kv_pair *pair = files[i], *end = sums->pairs + sums->count;
        do {
            kv_add(state, pair->key, pair->value);
        } while (++pair < end && strcmp(pair->key, "file"));
    }
}

/* ---- checking -------------------------------------------------------------------------------- */

/* A line of `state` about a file or a tensor. The checksum of a file covers all its bytes. */
struct sum {
    char file[256];
    uint64_t offset, bytes;
    uint32_t crc;
    const char *tensor; /* name, within the line; NULL: the line is a file's */
};

static int parse_sum(struct sum *s, const struct kv_pair *pair)
{
    int end = 0;
    *s = (struct sum){ 0 };
    if (!strcmp(pair->key, "file")) {
        int fields = sscanf(pair->value, "%255s %" SCNu64 " %" SCNx32 "%n", s->file, &s->bytes,
                            &s->crc, &end);
        if (fields == 3 && !pair->value[end])
            return 0;
        return err_set("'file=%s' is not NAME BYTES CRC32C", pair->value);
    }
    int fields = sscanf(pair->value, "%255s %" SCNu64 " %" SCNu64 " %" SCNx32 " %n", s->file,
                        &s->offset, &s->bytes, &s->crc, &end);
    s->tensor = pair->value + end;
    if (fields == 4 && end && *s->tensor)
        return 0;
    return err_set("'tensor=%s' is not NAME OFFSET BYTES CRC32C TENSOR", pair->value);
}

static int is_cut(const struct sum *s, const struct file_map *map)
{
    return s->offset > map->bytes || s->bytes > map->bytes - s->offset;
}

/* Looks for the first tensor of `file` that is cut off or damaged. Returns 1 and sets *out to its
 * line, 0 if all tensors are undamaged, or -1 with an error. */
static int find_damaged(struct sum *out, const struct kv *state, const struct sum *file,
                        const struct file_map *map)
{
    for (size_t i = 0; i < state->count; i++) {
        if (strcmp(state->pairs[i].key, "tensor"))
            continue;
        if (parse_sum(out, &state->pairs[i]) < 0)
            return -1;
        if (!strcmp(out->file, file->file) &&
            (is_cut(out, map) || file_map_sum(map, out->offset, out->bytes) != out->crc))
            return 1;
    }
    return 0;
}

/* Sets an error that says how the file, or the tensor, of the line `s` is damaged. Returns -1. */
static int say_damage(const char *path, const struct sum *s, const struct file_map *map)
{
    if (is_cut(s, map) || (!s->tensor && map->bytes != s->bytes))
        err_set("the file has %" PRIu64 " bytes and should have %s%" PRIu64, map->bytes,
                s->tensor ? "at least " : "", s->offset + s->bytes);
    else
        err_set("its checksum is %08x and should be %08x", file_map_sum(map, s->offset, s->bytes),
                s->crc);
    if (s->tensor)
        err_in("tensor '%s' at byte %" PRIu64, s->tensor, s->offset);
    return err_in("'%s' is damaged", path);
}

static int check_file(const struct kv *state, const char *path, const struct sum *file,
                      const struct file_map *map)
{
    if (map->bytes == file->bytes && file_map_sum(map, 0, map->bytes) == file->crc)
        return 0;
    struct sum tensor;
    int found = find_damaged(&tensor, state, file, map);
    return found < 0 ? -1 : say_damage(path, found ? &tensor : file, map);
}

/* Checks the file of a line of `state`. */
static int check_line(const struct kv *state, const char *dir, const struct kv_pair *line)
{
    struct sum file;
    SCOPED_BY(file_unmap) struct file_map map = { 0 };
    if (parse_sum(&file, line) < 0)
        return -1;
    SCOPED(buf) path = file_path(dir, file.file);
    return file_map(&map, path.data) < 0 ? -1 : check_file(state, path.data, &file, &map);
}

int sums_check(const struct kv *state, const char *dir, int rank, int ranks)
{
    int files = 0, result = 0;
    for (size_t i = 0; i < state->count && !result; i++)
        if (!strcmp(state->pairs[i].key, "file") && files++ % ranks == rank)
            result = check_line(state, dir, &state->pairs[i]);
    return result || files ? result : err_set("no file is listed");
}
