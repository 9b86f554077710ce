/*
 * look.h - returns the kind of file at a path, for tests: an error of the file system fails the
 * test.
 */
#ifndef TEXTMILL_LOOK_H
#define TEXTMILL_LOOK_H

#include <criterion/criterion.h>

#include "common/err.h"
#include "common/file.h"

static inline enum file_kind look(const char *path)
{
    enum file_kind kind;
    cr_assert_eq(file_look(path, &kind), 0, "%s", err_get());
    return kind;
}

#endif
