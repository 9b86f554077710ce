/*
 * preset.h - finds configuration files that are installed with the programs, by name.
 *
 * They are in ../share/textmill/configs, relative to the folder of the running program. In a build
 * folder, this is a link to the source. The first line of a preset is "# NAME: description".
 */
#pragma once

#include "common/base/base.h"

/* Sets *path to NAME.yaml, the file of the preset `name`. Returns 1; 0 if there is no such file or
 * the name is empty, has a slash or begins with a dot; -1 with an error. */
int preset_find(struct buf *path, const char *name);

/* Sets *name to the preset whose name is most similar to `word`, at a distance of at most two
 * (opt_distance). Leaves *name as it is if there is none. Returns 0, or -1 with an error. */
int preset_similar(struct buf *name, const char *word);

/* Appends a line "NAME description", with NAME padded to 22 columns, for each preset, sorted by
 * the names of the files. Returns 0, or -1 with an error. */
int preset_list(struct buf *out);
