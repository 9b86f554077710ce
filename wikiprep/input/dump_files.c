#include "wikiprep/input/dump_files.h"

#include <sys/stat.h>

static int by_number(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

static int is_dump(const char *name)
{
    return strstr(name, ".xml") || strstr(name, ".ndjson") || strstr(name, ".html") ||
           strstr(name, ".tar.gz");
}

static int add_folder(struct file_names *in, const char *path)
{
    SCOPED(file_names) all = { 0 };
    size_t before = in->count;
    if (file_list(&all, path, "") < 0)
        return -1;
    mem_sort(all.names, all.count, by_number);
    for (size_t i = 0; i < all.count; i++) {
        SCOPED(buf) file = buf_format("%s/%s", path, all.names[i]);
        if (is_dump(all.names[i]))
            file_names_add(in, file.data);
    }
    if (in->count == before)
        return err_set(
            "folder '%s' has no file with \".xml\", \".ndjson\", \".html\" or \".tar.gz\" in "
            "its name",
            path);
    return 0;
}

int dump_files_add(struct file_names *in, const char *path)
{
    const int kind = strcmp(path, "-") ? file_look(path) : FILE_NONE;
    if (kind < 0)
        return -1;
    if (kind == FILE_FOLDER)
        return add_folder(in, path);
    file_names_add(in, path);
    return 0;
}

int dump_files_check_stdin(const struct opt_list *templates, char *const *paths, size_t count)
{
    int reads = 0;
    for (size_t i = 0; i < templates->count; i++)
        reads += !strcmp(templates->items[i], "-");
    for (size_t i = 0; i < count; i++)
        reads += !strcmp(paths[i], "-");
    return reads < 2 ? 0 : err_usage("standard input cannot be read twice");
}

uint64_t dump_files_bytes(const struct file_names *in)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < in->count; i++) {
        struct stat st;
        if (!strcmp(in->names[i], "-") || stat(in->names[i], &st) < 0 || !S_ISREG(st.st_mode))
            return 0;
        sum += (uint64_t)st.st_size;
    }
    return sum;
}
