/*
 * look.h - what tests look at: the kind and the text of a file, and the last error.
 */
#pragma once

#include <criterion/criterion.h>
#include <string.h>

#include "common/base/err.h"
#include "common/files/file.h"

/* Returns the kind of file at a path. An error of the file system fails the test. */
static inline enum file_kind look(const char *path)
{
    const int kind = file_look(path);
    cr_assert_geq(kind, 0, "%s", err_get());
    return (enum file_kind)kind;
}

/* Checks that the last error contains `part`. */
static inline void expect_error(const char *part)
{
    cr_expect(strstr(err_get(), part), "error is '%s', without '%s'", err_get(), part);
}

/* Checks that the file at a path has this text; NULL: that there is no file. */
static inline void expect_contents(const char *path, const char *text)
{
    SCOPED(buf) is = BUF_INIT;
    if (!text) {
        cr_expect_eq(look(path), FILE_NONE, "%s is there", path);
        return;
    }
    cr_assert_eq(file_read(path, &is), 0, "%s", err_get());
    cr_expect_str_eq(is.data, text);
}
