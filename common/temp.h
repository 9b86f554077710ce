/*
 * temp.h - files and folders under temporary names: gone when the program ends, however it ends.
 *
 * What is not complete yet is called "<name>.tmp-<pid>". It is removed when the program ends early
 * (exit in want of memory or threads) and on signals that would end it. What a kill or a power cut
 * leaves, the next run that writes to the same name removes.
 *
 * Whether its process lives is asked in two ways, of which both must say no: the process id, which
 * means nothing to another machine or container, and a lock on the file or folder (flock), which
 * dies with its process and works over NFS. Where there are no locks nothing is swept.
 */
#ifndef TEXTMILL_COMMON_TEMP_H
#define TEXTMILL_COMMON_TEMP_H

#include "common/buf.h"

/* What becomes of a temporary: removed at exit and on signals; at exit only, since another run may
 * go on with it; or never. */
enum temp_end { TEMP_GOES, TEMP_STAYS_ON_SIGNALS, TEMP_STAYS };

/* Replaces `out` by the temporary name of `path`. */
void temp_name(struct buf *out, const char *path);

/* Announces a file or folder, before it is made; what is inside of an announced folder shares its
 * fate. temp_forget: it has its own name now, or is removed. */
void temp_add(const char *path, enum temp_end end);
void temp_forget(const char *path);

/* Locks the open file or folder for as long as it is open: a sign of life. */
void temp_lock(int fd);

/* Removes temporaries of `path` whose processes have ended. */
void temp_sweep(const char *path);

/* Removes a file, or a folder with all that is in it: 0, or -1 with errno. Fine in a handler of
 * signals. */
int temp_remove(const char *path);

/* For a main: removes temporaries on signals that end the program. A file that grows beyond the
 * limit of its size is an error of write, and no signal. */
void temp_catch_signals(void);

#endif
