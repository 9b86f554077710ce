/*
 * preset.h - finds configuration files that are installed with the programs, by name.
 *
 * They are in ../share/textmill/configs, relative to the folder of the running program. In a build
 * folder, this is a link to the source. The first line of a preset is "# NAME: description".
 */
#ifndef TEXTMILL_COMMON_PRESET_H
#define TEXTMILL_COMMON_PRESET_H

#include "common/buf.h"

/* Sets *path to NAME.yaml, the file of the preset `name`. Returns 1; 0 if there is no such file or
 * the name has a slash or a dot; -1 with an error. */
int preset_find(struct buf *path, const char *name);

/* Appends the name of the preset that `word` misspells by at most two letters; nothing if there is
 * none. Returns 0, or -1 with an error. */
int preset_similar(struct buf *name, const char *word);

/* Appends a line "NAME description" for each preset, sorted by name. Returns 0, or -1 with an
 * error. */
int preset_list(struct buf *out);

#endif
