#include "tests/unit/dir.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/files/file.h"
#include "common/files/temp.h"
#include "tests/unit/set_path.h"

char dir[] = "/tmp/textmill-XXXXXX";

void make_dir(void)
{
    cr_assert(mkdtemp(dir));
}

void remove_dir(void)
{
    temp_remove(dir);
}

const char *in_dir(const char *name)
{
    static struct buf paths[4] = { BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT };
    static int next;
    struct buf *path = &paths[next++ % 4];
    set_path(path, dir, name);
    return path->data;
}

void put_text(const char *name, const char *text)
{
    cr_assert_eq(file_write(in_dir(name), text, strlen(text)), 0, "%s", err_get());
}
