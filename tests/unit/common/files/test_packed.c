/* Packed files are recognised by their first bytes. */
#include <criterion/criterion.h>

#include <string.h>

#include "common/base/err.h"
#include "common/files/file.h"
#include "common/files/packed.h"
#include "tests/unit/dir.h"

TestSuite(packed, .init = make_dir, .fini = remove_dir);

Test(packed, files_cut_short_are_told)
{
    static const struct {
        const char *name, *bytes, *why;
        size_t n;
    } files[] = {
        { "a.xz", "\xFD\x37zXZ", "it does not begin as a packed file", 5 },
        { "b", "\xFD\x37zXZ\0", NULL, 6 },
        { "c", "BZh91AY&SY", NULL, 10 },
        { "d", "\x04\x22\x4D\x18", NULL, 4 },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct packed p;
        struct input in;
        const char *path = in_dir(files[i].name);
        cr_assert_eq(file_write(path, files[i].bytes, files[i].n), 0);
        int opened = packed_open(&p, &in, path);
        if (!opened) {
            cr_expect_lt(input_peek(&in, 1), 0, "%s", files[i].name);
            packed_close(&p, &in);
        }
        cr_expect(strstr(err_get(), files[i].why ? files[i].why : "cannot unpack"), "%s: %s",
                  files[i].name, err_get());
    }
}
