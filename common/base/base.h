/*
 * base.h - what most files use: the C library's headers of std.h, errors, memory, and strings of
 * bytes.
 */
#pragma once

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/mem.h"
