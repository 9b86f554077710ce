#include "common/files/plugin.h"

#include <dlfcn.h>

#include "common/files/file.h"

static int opened;

int plugin_opened(void)
{
    return opened;
}

static const void *open_file(const char *path, unsigned layout)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    opened |= library != NULL;
    if (!library) {
        err_set("cannot open plug-in: %s", dlerror());
        return NULL;
    }
    const struct plugin *p = dlsym(library, "textmill_plugin");
    if (p && p->layout == layout)
        return p->table;
    err_set("plug-in '%s' belongs to another version of this program", path);
    dlclose(library);
    return NULL;
}

const void *plugin_open(const char *name, unsigned layout)
{
    SCOPED(buf) path = BUF_INIT;
    if (file_of_program(&path, "../lib/textmill/libtextmill-") < 0)
        return NULL;
    buf_addf(&path, "%s.so", name);
    const int kind = file_look(path.data);
    if (kind >= 0 && kind != FILE_PLAIN)
        err_set("plug-in '%s' is not installed: there is no '%s'", name, path.data);
    return kind == FILE_PLAIN ? open_file(path.data, layout) : NULL;
}
