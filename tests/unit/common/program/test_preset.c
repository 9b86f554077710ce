/* The configurations that are installed with the programs. */
#include "common/program/preset.h"

#include <criterion/criterion.h>

#include "common/base/lines.h"
#include "tests/unit/look.h"

Test(preset, found_by_name)
{
    static const char *const no[] = {
        "", ".", "..", "bert-tin", "machines/h100-ib", "bert-tiny.yaml", "machines", "Bert-Tiny"
    };
    SCOPED(buf) path = BUF_INIT;
    cr_assert_eq(preset_find(&path, "bert-tiny"), 1, "%s", err_get());
    cr_expect(bytes_end(path.data, path.len, "/configs/bert-tiny.yaml") && look(path.data), "%s",
              path.data);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        SCOPED(buf) none = BUF_INIT;
        cr_expect_eq(preset_find(&none, no[i]), 0, "%s", no[i]);
    }
}

Test(preset, list)
{
    SCOPED(buf) list = BUF_INIT, before = BUF_INIT;
    cr_assert_eq(preset_list(&list), 0, "%s", err_get());
    struct lines l = LINES_OF(list.data, list.len);
    while (lines_next(&l)) {
        SCOPED(buf) path = BUF_INIT, name = buf_format("%.*s", (int)strcspn(l.line, " "), l.line);
        cr_expect_eq(preset_find(&path, name.data), 1, "%s", name.data);
        cr_expect_gt(strcmp(path.data, before.len ? before.data : ""), 0, "%s", name.data);
        cr_expect(l.len > 23 && l.line[22] == ' ' && l.line[23] != ' ', "%.*s", (int)l.len, l.line);
        buf_set(&before, path.data, path.len);
    }
    cr_expect_gt(l.number, 20);
}

Test(preset, similar)
{
    static const char *const cases[][2] = {
        { "bert-tiny", "bert-tiny" }, { "bert-tinny", "bert-tiny" }, { "gpt-tyni", "gpt-tiny" },
        { "bert-t", "as it was" },    { "", "as it was" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(buf) name = buf_format("as it was");
        cr_assert_eq(preset_similar(&name, cases[i][0]), 0, "%s", err_get());
        cr_expect_str_eq(name.data, cases[i][1], "%s: %s", cases[i][0], name.data);
    }
}
