/* set_path.h - a buffer of a test that gets one path after the other. */
#pragma once

#include "common/files/file.h"

static inline void set_path(struct buf *out, const char *folder, const char *name)
{
    buf_release(out);
    *out = file_path(folder, name);
}
