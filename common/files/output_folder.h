/*
 * output_folder.h - an output that is a folder of files, which appears when all of it is complete.
 *
 * The files are written into a temporary folder (temp.h) that is renamed at the end, so a failed
 * run leaves nothing at its final path. An older folder is replaced in one step, if the file system
 * can swap two names.
 */
#pragma once

#include "common/files/file.h"

struct output_folder {
    char *dir;  /* the final path, without slashes at its end */
    char *temp; /* the temporary folder */
    char *path; /* a folder in `temp`, where the caller writes; NULL: the struct is not open */
    int made;   /* number of folders above `dir` that this run made */
    int lock;   /* descriptor of its mark: shows that this run is alive */
    struct file_names was; /* what was in `dir` when the run began */
};

/* Sets *names to all names in the folder `dir`, hidden ones, too; to none if nothing is there. The
 * caller frees them with file_names_release. Returns 0, or -1 with an error if `dir` is no folder.
 */
int output_folder_look(struct file_names *names, const char *dir);

/* Begins the folder `dir`. The outputs in f->path may be `lazy` (file.h): output_folder_close syncs
 * them. Returns 0, or -1 with an error; then the caller calls output_folder_abandon. */
int output_folder_open(struct output_folder *f, const char *dir);

/* Publishes the folder, in place of what is at its path, and frees the struct. Returns 0, or -1
 * with an error: nothing was published, for example because another program wrote files there
 * during the run, or the folder above could not be synced. */
int output_folder_close(struct output_folder *f);
void output_folder_abandon(struct output_folder *f); /* drops it; fine on a zeroed struct */

/* Restores the finished folder at `path` if a run was killed after it had moved that folder away to
 * replace it. Call it before checking whether `path` exists. Returns 1 if it was restored, 0 if
 * there was nothing to do, or -1 with an error. */
int output_folder_recover(const char *path);

/* Locks a folder whose files are written in place, one after the other: two runs in it would
 * destroy each other's. Sets *lock to a file descriptor: closing it releases the lock. Sets it to
 * -1 if the folder does not exist. A file system without locks is no error. Returns 0, or -1 with
 * an error: another run has the lock, or the folder cannot be opened. */
int output_folder_lock(const char *folder, int *lock);
