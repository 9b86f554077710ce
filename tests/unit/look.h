/*
 * look.h - what tests look at: the kind of a file, and the last error.
 */
#pragma once

#include <criterion/criterion.h>
#include <string.h>

#include "common/base/err.h"
#include "common/files/file.h"

/* Returns the kind of file at a path. An error of the file system fails the test. */
static inline enum file_kind look(const char *path)
{
    enum file_kind kind;
    cr_assert_eq(file_look(path, &kind), 0, "%s", err_get());
    return kind;
}

/* Checks that the last error contains `part`. */
static inline void expect_error(const char *part)
{
    cr_expect(strstr(err_get(), part), "error is '%s', without '%s'", err_get(), part);
}
