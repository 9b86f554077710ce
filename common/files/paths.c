#include "common/files/paths.h"

#include <errno.h>
#include <sys/stat.h>

#include "common/base/order.h"
#include "common/files/packed.h"
#include "common/files/temp.h"

static int add_folder(struct file_names *out, const char *dir);
static int add_matches(struct file_names *out, const char *pattern);

static int add_any(struct file_names *out, const char *path)
{
    const int kind = file_look(path);
    if (kind < 0)
        return -1;
    if (kind == FILE_FOLDER)
        return add_folder(out, path);
    if (kind == FILE_NONE && strpbrk(path, "*?["))
        return add_matches(out, path);
    if (kind == FILE_NONE && strcmp(path, "-")) /* not after the files before it were read */
        return err_set("cannot open '%s': No such file or directory", path);
    file_names_add(out, path);
    return 0;
}

/* Adds the files that match a shell pattern, which the shell did not expand. */
static int add_matches(struct file_names *out, const char *pattern)
{
    SCOPED(file_names) names = { 0 };
    int result = file_glob(&names, pattern);
    for (size_t i = 0; i < names.count && !result; i++)
        result = add_any(out, names.names[i]);
    return result;
}

static int add_folder(struct file_names *out, const char *dir)
{
    SCOPED(file_names) names = { 0 };
    int result = file_list(&names, dir, "");
    for (size_t i = 0; i < names.count && !result; i++) {
        if (temp_base(names.names[i])) /* a program writes it, or was killed */
            continue;
        SCOPED(buf) path = file_path(dir, names.names[i]);
        result = file_look(path.data) == FILE_SPECIAL /* opening a pipe without a writer blocks */
                     ? err_set("cannot read '%s': not a regular file", path.data)
                     : add_any(out, path.data);
    }
    return result;
}

/* Returns -1 with an error if the input is the file that standard output goes to, such as a file in
 * a folder of inputs: a command that reads what it writes may never end. Else returns 0. */
static int refuse_own_output(const char *path)
{
    struct stat in, out;
    const int is_file = strcmp(path, "-") != 0;
    if (fstat(1, &out) < 0) /* it may be closed, and not be used */
        return errno == EBADF ? 0 : err_set("cannot look at standard output: %s", strerror(errno));
    if ((is_file ? stat(path, &in) : fstat(0, &in)) < 0)
        return errno == EBADF || errno == ENOENT || errno == ENOTDIR
                   ? 0 /* opening it says so */
                   : err_set("cannot look at '%s': %s", is_file ? path : "<stdin>",
                             strerror(errno));
    if (!S_ISREG(in.st_mode) || in.st_dev != out.st_dev || in.st_ino != out.st_ino)
        return 0;
    return err_set("'%s' is input and standard output: redirect the output to another folder",
                   is_file ? path : "<stdin>");
}

int paths_expand(struct file_names *out, char *const *given, int count)
{
    int dashes = 0;
    *out = (struct file_names){ 0 };
    if (!count)
        file_names_add(out, "-");
    for (int i = 0; i < count; i++) {
        const size_t before = out->count;
        if (!strcmp(given[i], "-") && dashes++)
            return err_usage("standard input cannot be read twice");
        if (add_any(out, given[i]) < 0)
            return -1;
        if (out->count == before)
            return err_set("'%s' holds no file", given[i]);
    }
    int result = 0;
    for (size_t i = 0; i < out->count && !result; i++)
        result = refuse_own_output(out->names[i]);
    return result;
}

int paths_can_read_twice(char *const *paths, int count, int *twice)
{
    *twice = count > 0;
    for (int i = 0; i < count; i++) {
        const int kind = file_look(paths[i]);
        if (kind < 0)
            return -1;
        *twice &= strcmp(paths[i], "-") && kind != FILE_SPECIAL;
    }
    return 0;
}

/* Returns what follows the folder in a path, or NULL if the path is not inside. */
static const char *inside(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    while (n && folder[n - 1] == '/')
        n--;
    return !strncmp(path, folder, n) && path[n] == '/' ? path + n + strspn(path + n, "/") : NULL;
}

/* Checks that all names differ. Returns 0, or -1 with an error. */
static int check_twice(const struct file_names *names)
{
    SCOPED_MEM const char **sorted = mem_alloc((names->count + 1) * sizeof *sorted);
    for (size_t i = 0; i < names->count; i++)
        sorted[i] = names->names[i];
    qsort(sorted, names->count, sizeof *sorted, order_texts);
    for (size_t i = 1; i < names->count; i++)
        if (!strcmp(sorted[i - 1], sorted[i]))
            return err_usage("two inputs give the output '%s'", sorted[i]);
    return 0;
}

int paths_outputs(struct file_names *out, const struct file_names *paths, char *const *given,
                  int count)
{
    SCOPED(file_names) folders = { 0 }; /* of the operands: there may be many files */
    *out = (struct file_names){ 0 };
    for (int k = 0; k < count; k++)
        if (file_look(given[k]) == FILE_FOLDER)
            file_names_add(&folders, given[k]);
    for (size_t i = 0; i < paths->count; i++) {
        const char *path = paths->names[i], *name = NULL;
        if (!strcmp(path, "-"))
            return err_usage("standard input gives no name to an output in a folder: name files");
        for (size_t k = 0; k < folders.count && !name; k++)
            name = inside(path, folders.names[k]);
        file_names_add(out, name ? name : file_name(path));
        out->names[i][packed_name(out->names[i])] = '\0';
    }
    return check_twice(out);
}
