/*
 * lambada.h - a passage of LAMBADA, which `evaluate lmbd` scores (lambada.c).
 */
#pragma once

#include "common/base/base.h"

/* Appends the "text" of one line to `text`. `name` names the line in errors. Returns 0, or -1 with
 * an error. */
int lambada_parse(const char *line, size_t n, const char *name, struct buf *text);
