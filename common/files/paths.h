/*
 * paths.h - the files that the operands of a command stand for.
 *
 * A folder stands for all files in it and in its subfolders, in order of their names, without
 * hidden ones and those with temporary names (temp.h). A path with *, ? or [ that is not the name
 * of a file stands for the paths that match it, in order.
 */
#pragma once

#include "common/files/file.h"

/* Sets *out to the files that given[0..count) stand for, or to "-", stdin, if count is 0. Each must
 * stand for at least one, only one may be stdin, and none may be the file that stdout goes to. The
 * caller frees the list with file_names_release, also after an error. Returns 0, or -1 with an
 * error. */
int paths_expand(struct file_names *out, char *const *given, int count);

/* Sets *twice to whether all files can be read twice: there is one, and none is stdin ("-"), a pipe
 * or a device. Returns 0, or -1 with an error. */
int paths_can_read_twice(char *const *paths, int count, int *twice);

/* Sets *out to the name that each file of `paths` has in an output folder: its path inside the
 * given folder, or else its own name, without a suffix such as ".gz". `paths` are the files that
 * given[0..count) stand for (paths_expand). The caller frees the list with file_names_release, also
 * after an error. Returns 0, or -1 with an error if a file is stdin, or two have one name. */
int paths_outputs(struct file_names *out, const struct file_names *paths, char *const *given,
                  int count);
