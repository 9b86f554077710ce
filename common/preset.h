/*
 * preset.h - configuration files that come with the programs, by name, from wherever they run.
 *
 * They are in ../share/textmill/configs, seen from the folder of the running program: installed
 * there, or by a link that the build makes to the source. The first line of a preset is
 * "# NAME: what it is".
 */
#ifndef TEXTMILL_COMMON_PRESET_H
#define TEXTMILL_COMMON_PRESET_H

#include "common/buf.h"

/* 1 and the path of the file NAME.yaml, 0 when there is none or NAME has a slash or a dot; -1. */
int preset_find(struct buf *path, const char *name);

/* Appends a line "NAME  what it is" for each preset, sorted by name. -1 with an error. */
int preset_list(struct buf *out);

#endif
