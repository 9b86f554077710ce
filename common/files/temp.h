/*
 * temp.h - temporary files and folders, removed when the program ends, or else by the next run.
 *
 * An incomplete file or folder is called "<name>.textmill-<10 random characters>"; of a long name
 * there is only the beginning, with a hash. It is made only if nothing has that name, so no link
 * and no file of another user can be in its place. It is locked (flock) as long as its process
 * lives. It is removed when the program exits early (for example when memory or threads run out),
 * and on signals that end the program. After a kill or a power failure it remains; the next run
 * that writes to the same name removes it.
 *
 * Such a remainder is removed only if this program provably made it and nobody uses it: it has a
 * temporary name; it belongs to this user; it is a file with a single hard link, an empty folder,
 * or a folder with the mark ".textmill-<kind>" (a file that temp_mkdir puts in); it can be locked.
 * Of a folder the mark is locked: over NFS, locks of files work between hosts, those of folders do
 * not. On file systems without locks nothing is removed.
 *
 * What is to appear as a folder is written inside a temporary folder and moved out when it is
 * complete, and what is to disappear is moved into one first. So no mark is ever published, and
 * nothing incomplete has a final name.
 */
#pragma once

#include "common/base/base.h"

/* When a temporary is removed: TEMP_GOES at exit and on signals; TEMP_STAYS_ON_SIGNALS only at
 * exit, because another run may continue with it; TEMP_STAYS never. */
enum temp_end { TEMP_GOES, TEMP_STAYS_ON_SIGNALS, TEMP_STAYS };

/* temp_create makes a temporary file for `path`, open for writing. temp_mkdir makes a temporary
 * folder for `path`, marked with `kind`, a short word. Both first remove what ended runs left for
 * the same path and kind. The user's umask gives the mode. They set *name to the new path and
 * return a descriptor, of the file or of the mark, which is locked and which the caller closes, or
 * -1 with an error. */
int temp_create(struct buf *name, const char *path);
int temp_mkdir(struct buf *name, const char *path, const char *kind, enum temp_end end);

/* temp_forget says that a temporary was renamed or removed. temp_drop removes a temporary with its
 * content, and closes its descriptor; returns 0, or -1 with an error: it is tried again at exit. */
void temp_forget(const char *path);
int temp_drop(const char *name, int fd);

/* Returns the number of bytes before the ending of a temporary name, or 0 for another name. */
size_t temp_base(const char *name);
/* Sets `out` to what temporary names for `path` have before their ending: `path` itself or, if they
 * would be longer than a file system allows, a beginning of it and a hash of its last part. */
void temp_stem(struct buf *out, const char *path);

/* Takes over the temporary at `path` that an ended run of this user left: a folder marked with
 * `kind`, or a file if `kind` is NULL. Returns its descriptor, locked, or -1 with errno:
 * EWOULDBLOCK if a process uses it, 0 if it is no such temporary. temp_keep says that a folder that
 * was taken over stays at exit. temp_clear removes a temporary if it can be taken over. */
int temp_take(const char *path, const char *kind);
void temp_keep(const char *path);
void temp_clear(const char *path, const char *kind);

/* Returns 1 if an ended run left a temporary file for `path`, else 0. */
int temp_left(const char *path);

/* Removes a file, or a folder with its content. Returns 0, or -1 with errno. May be called in a
 * signal handler. */
int temp_remove(const char *path);

/* Removes the temporaries but those that are TEMP_STAYS. May be called in a signal handler, before
 * _exit. */
void temp_remove_all(void);

/* For main programs: from now on, temporaries are removed on signals that end the program. Also
 * ignores the signal for exceeding the file size limit, so that exceeding it is a write error. */
void temp_catch_signals(void);
