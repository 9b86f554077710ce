/*
 * file.h - whole files, line input, memory maps, folders, and output that appears when complete.
 *
 * A path "-" is stdin or stdout where a function says so. Errors name the path.
 */
#ifndef TEXTMILL_COMMON_FILE_H
#define TEXTMILL_COMMON_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* ---- whole files ------------------------------------------------------------------------ */

/* Both append. file_read_any: a path that the user gave, perhaps a pipe; "-" is stdin. file_read: a
 * file that is found by its name; what is no regular file is an error, since a pipe without a
 * writer would be waited for without end. */
int file_read(const char *path, struct buf *out);
int file_read_any(const char *path, struct buf *out);

/* What stands at `path`, behind symbolic links: FILE_NONE where nothing does. -1 when the file
 * system cannot tell: an I/O error is not "nothing there", and the compiler warns of a caller that
 * does not look at the result. */
enum file_kind { FILE_NONE, FILE_PLAIN, FILE_FOLDER, FILE_SPECIAL };
int file_look(const char *path, enum file_kind *kind) __attribute__((warn_unused_result));

int file_size(const char *path, uint64_t *bytes);
int file_mkdirs(const char *path);                                  /* as mkdir -p */
void file_join(struct buf *out, const char *dir, const char *name); /* replaces out */
int file_ends_with(const char *name, const char *suffix);

/* Names in `dir` that end in `suffix` ("" for all), sorted by byte; hidden names left out.
 * file_names_free frees them; after an error there are none. */
struct file_names {
    char **names;
    size_t count, cap;
};
int file_list(struct file_names *out, const char *dir, const char *suffix);
/* Paths that match a pattern of the shell, in order; hidden names only where spelled out. None is
 * an error. */
int file_glob(struct file_names *out, const char *pattern);
void file_names_free(struct file_names *names);

/* A read-only map of a regular file, which must not shrink while it is mapped. */
struct file_map {
    const unsigned char *data;
    uint64_t bytes;
};
int file_map(struct file_map *map, const char *path);
void file_unmap(struct file_map *map);
/* Bytes from `first` on leave memory; they come again when they are read. */
void file_map_leave(const struct file_map *map, uint64_t first, uint64_t bytes);

/* -1 with an error where the first bytes of a file are those of a git-lfs pointer. */
int file_check_pointer(const char *path, const void *bytes, size_t n);

/* The folder for temporary files: what TMPDIR says, else /var/tmp. */
const char *file_temporary_folder(void);

/* A file without a name in `dir`, to write and to read: its descriptor, or -1. */
int file_nameless(const char *dir);

/* ---- sequential input ------------------------------------------------------------------- */

/* Buffered reading that knows its offset. Not for two threads at once. */
struct input {
    char *path; /* "<stdin>" for "-" */
    int fd;
    /* Where the bytes come from if not from fd: up to n of them, 0 at the end, -1 with an error.
     * `from` is borrowed. */
    int64_t (*pull)(void *from, void *bytes, size_t n);
    void *from;
    size_t most; /* bytes of a line; a longer one is an error. Set by the caller; 0: any */
    char *data;  /* bytes read and not yet given out are data[begin..end) */
    size_t begin, end, cap;
    uint64_t offset; /* of data[begin] in the input */
    int eof;
};
int input_open(struct input *in, const char *path);
void input_open_pulled(struct input *in, const char *path,
                       int64_t (*pull)(void *from, void *bytes, size_t n), void *from);
void input_close(struct input *in);

/* At least `want` bytes at data+begin unless the input ends before: returns how many there
 * are, or -1. They stay where they are until the next input_ call. */
int64_t input_peek(struct input *in, size_t want);
void input_skip(struct input *in, size_t n); /* n <= bytes there */

/* The next line without its LF (a CR stays): 1, 0 at the end, -1. Valid until the next call.
 * A last line without LF counts. Any length. */
int input_line(struct input *in, char **line, size_t *len);

/* ---- output under a temporary name --------------------------------------------------------- */

/* Written to "<path>.tmp-<pid>" beside `path`, and renamed when output_close finds every write,
 * the flush and the fsync well; after output_abandon, or when the process dies, nothing stands
 * under `path`. "-" is stdout: no temporary, no rename, and output_close flushes it; likewise what
 * is no file, such as a device or a pipe. Behind a symbolic link the file it leads to is replaced.
 * Errors stick: after a failed write every call fails. */
struct output {
    char *path, *temp; /* temp: NULL for stdout and devices */
    int fd;
    char *data;
    size_t len;
    uint64_t offset; /* bytes given to output_write so far */
    size_t unsynced; /* written since the disk was last told to take it */
    int failed;      /* errno of the write that failed */
    int lazy; /* set by the caller: no fsync at the close, since a whole tree is synced later */
};
int output_open(struct output *out, const char *path);
int output_write(struct output *out, const void *bytes, size_t n);
int output_flush(struct output *out);
int output_close(
    struct output *out); /* flush, fsync, close, rename; frees. -1: nothing published */

/* Several files that make one set: all are published, or none. Each is whole on the disk before the
 * first gets its name. */
int output_close_all(struct output *outs, size_t count);
void output_abandon(struct output *out); /* drop without publishing; fine on a zeroed struct */

/* For work that is taken up again: output_resume goes on after the first `bytes` bytes of the file
 * at `path`, which gets a temporary name; output_leave puts what was written so far under `path`,
 * unfinished as it is (fine on a zeroed struct). Neither is for a `path` that readers look at. */
int output_resume(struct output *out, const char *path, uint64_t bytes);
void output_leave(struct output *out);

/* Writes a small file whole, in the same way. */
int file_write(const char *path, const void *bytes, size_t n);

/* fsync of the folder that holds `path`, so that a rename in it survives a power cut. */
int file_sync_dir(const char *path);

/* Swaps the names of two files or folders in one step: 1, 0 where the file system has no such step,
 * -1. */
int file_swap(const char *a, const char *b);

/* Removes a file, or a folder with all that is in it. Missing is fine. */
int file_remove_tree(const char *dir);

#endif
