#include "common/program/preset.h"

#include "common/files/file.h"
#include "common/program/opt.h"

static const char configs[] = "../share/textmill/configs"; /* from the folder of the programs */

int preset_find(struct buf *path, const char *name)
{
    if (!*name || strchr(name, '/') || name[0] == '.')
        return 0;
    if (file_of_program(path, configs) < 0)
        return -1;
    buf_addf(path, "/%s.yaml", name);
    const int kind = file_look(path->data);
    return kind < 0 ? -1 : kind == FILE_PLAIN;
}

/* Appends the line of one file, if it is a preset. */
static int list_one(struct buf *out, const char *folder, const char *file)
{
    const int name = (int)(strlen(file) - strlen(".yaml"));
    SCOPED(buf) path = file_path(folder, file), text = BUF_INIT,
                begin = buf_format("# %.*s: ", name, file);
    if (file_read(path.data, &text) < 0)
        return -1;
    if (!strncmp(text.data, begin.data, begin.len))
        buf_addf(out, "%-22.*s %.*s\n", name, file, (int)strcspn(text.data + begin.len, "\n"),
                 text.data + begin.len);
    return 0;
}

int preset_list(struct buf *out)
{
    SCOPED(buf) folder = BUF_INIT;
    SCOPED(file_names) files = { 0 };
    int result = file_of_program(&folder, configs) < 0 ? -1
                                                       : file_list(&files, folder.data, ".yaml");
    for (size_t i = 0; i < files.count && !result; i++)
        result = list_one(out, folder.data, files.names[i]);
    return result;
}

int preset_similar(struct buf *name, const char *word)
{
    SCOPED(buf) list = BUF_INIT, one = BUF_INIT;
    size_t least = 3, n, d;
    int result = preset_list(&list);
    for (const char *p = list.len ? list.data : ""; *p; p += strcspn(p, "\n") + 1) {
        n = strcspn(p, " ");
        buf_set(&one, p, n);
        if ((d = opt_distance(word, one.data)) < least) {
            least = d;
            buf_set(name, p, n);
        }
    }
    return result;
}
