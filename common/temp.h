/*
 * temp.h - temporary files and folders, which are removed when the program ends, however it ends.
 *
 * An incomplete file or folder is called "<name>.tmp-<pid>". It is removed when the program exits
 * early (for example when memory or threads run out), and on signals that end the program. After a
 * kill or a power failure it remains; the next run that writes to the same name removes it.
 *
 * A remaining temporary is removed only if its process has ended. Two tests must both say so: the
 * process id, which is meaningless on another machine or in another container, and a lock on the
 * file or folder (flock), which is released when its process ends and works over NFS. On file
 * systems without locks nothing is removed.
 */
#ifndef TEXTMILL_COMMON_TEMP_H
#define TEXTMILL_COMMON_TEMP_H

#include "common/buf.h"

/* When a temporary is removed: TEMP_GOES at exit and on signals; TEMP_STAYS_ON_SIGNALS only at
 * exit, because another run may continue with it; TEMP_STAYS never. */
enum temp_end { TEMP_GOES, TEMP_STAYS_ON_SIGNALS, TEMP_STAYS };

/* Sets `out` to the temporary name of `path`. */
void temp_name(struct buf *out, const char *path);

/* temp_add registers a temporary file or folder, before it is created. Everything inside a
 * registered folder is removed with it. temp_forget unregisters it after it was renamed or
 * removed. */
void temp_add(const char *path, enum temp_end end);
void temp_forget(const char *path);

/* Locks the open file or folder until it is closed, to show that its process is alive. A file
 * system without locks is no error. */
void temp_lock(int fd);

/* Removes the temporaries of `path` whose processes have ended. */
void temp_sweep(const char *path);

/* Removes a file, or a folder with its content. Returns 0, or -1 with errno. May be called in a
 * signal handler. */
int temp_remove(const char *path);

/* Removes the temporaries that a signal removes. May be called in a signal handler, before _exit.
 */
void temp_remove_all(void);

/* For main programs: from now on, temporaries are removed on signals that end the program. Also
 * ignores the signal for exceeding the file size limit, so that exceeding it is a write error. */
void temp_catch_signals(void);

#endif
