/*
 * sums.h - the checksums of a checkpoint's files, stored as lines of its `state`:
 *
 *     file=NAME BYTES CRC32C   each file, by its name in the checkpoint
 *
 * Checkpoints of earlier versions also have a line for each tensor; it is ignored.
 */
#pragma once

#include "common/formats/kv.h"

/* sums_add_file adds to `state` the line of the file `dir`/`name`. sums_add adds those of all
 * files in the folder `dir`/`sub` that `state` does not list yet, without its subfolders; `sub` is
 * "" or ends in '/'. Both return 0, or -1 with an error. */
int sums_add_file(struct kv *state, const char *dir, const char *name);
int sums_add(struct kv *state, const char *dir, const char *sub);
/* Sets *crc to the checksum of the file `name`. Returns 1, or 0 if `state` does not list it. */
int sums_of_file(const struct kv *state, const char *name, uint32_t *crc);
/* Orders lines: first the files without a folder, then those of folders, each by their names. */
void sums_sort(struct kv *sums);

/* For a file that could not be opened: returns SUMS_DAMAGED if it is missing or no plain file, or
 * -1 if the file system failed, which is no damage. Keeps the error, or sets that of the file
 * system.
 */
enum { SUMS_DAMAGED = 1 };
int sums_judge(const char *path);
/* Checks the files in `dir` that `state` lists: of `ranks` ranks that share the work, rank `rank`
 * checks each `ranks`-th file. Returns 0; SUMS_DAMAGED with an error that names the first damaged
 * file, also if the state lists no file; or -1 with an error if a file cannot be read. */
int sums_check(const struct kv *state, const char *dir, int rank, int ranks);
