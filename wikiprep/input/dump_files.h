/*
 * dump_files.h - the files that make up a dump: files that the user names, and the files in
 * folders.
 */
#pragma once

#include "common/files/file.h"
#include "common/program/opt.h"

/* Adds the file `path`, or the dumps in the folder `path`: the files with ".xml", ".ndjson",
 * ".html" or ".tar.gz" in their names, in the order of the numbers there. "-" is standard input.
 * Returns 0, or -1 with an error. */
int dump_files_add(struct file_names *in, const char *path);

/* Returns 0, or -1 with a usage error if both lists together have "-" more than once. */
int dump_files_check_stdin(const struct opt_list *templates, char *const *paths, size_t count);

/* Returns the size of all files in bytes, or 0 if one is not a regular file. */
uint64_t dump_files_bytes(const struct file_names *in);
