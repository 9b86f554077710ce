/*
 * file.h - whole files, line input, memory maps, folders, and output files that appear only when
 * they are complete.
 *
 * A path "-" means stdin or stdout where a function's comment says so. Error messages name the
 * path.
 */
#pragma once

#include "common/base/base.h"

/* ---- whole files ------------------------------------------------------------------------ */

/* Append the bytes of the file to `out`; return 0, or -1 with an error. file_read_any is for a path
 * that the user gave: "-" is stdin, and a pipe is opened as input_open_soon does. file_read is for
 * other files and accepts regular files only. Both refuse a file of more than 4 GiB, more than 64
 * MiB from a pipe or a device, which may have no end, and a git-lfs pointer. file_read_most is as
 * file_read_any, with another limit for regular files. */
int file_read(const char *path, struct buf *out);
int file_read_any(const char *path, struct buf *out);
int file_read_most(const char *path, uint64_t most, struct buf *out);

/* Returns the kind of file at `path`, following symbolic links; FILE_NONE, which is 0, if nothing
 * is there; or -1 with an error if the file system reports one: an I/O error does not mean that
 * nothing is there. */
enum file_kind { FILE_NONE, FILE_PLAIN, FILE_FOLDER, FILE_SPECIAL };
int file_look(const char *path) __attribute__((warn_unused_result));

/* Sets *bytes to the size of a file. Returns 0, or -1 with an error. */
int file_size(const char *path, uint64_t *bytes);

/* file_mkdirs makes a folder and its parent folders if they are missing. Returns 0, or -1 with an
 * error; then it has removed those that it made. file_mkdirs_count also sets *made to their number.
 * file_rmdirs removes up to `made` folders at the end of `path`, the innermost first, and stops at
 * one that is not empty. file_rmdir removes one folder; one that is not there or not empty is no
 * error. Returns 0, or -1 with an error. */
int file_mkdirs(const char *path);
int file_mkdirs_count(const char *path, int *made);
void file_rmdirs(const char *path, int made);
int file_rmdir(const char *path);

int file_ends_with(const char *name, const char *suffix); /* 1 or 0 */
const char *file_name(const char *path); /* returns what follows the last '/', inside `path` */
/* Each returns the path of `name` in a new buffer: in the folder `dir`, or in that of the file
 * `path`. */
struct buf file_path(const char *dir, const char *name);
struct buf file_beside(const char *path, const char *name);
/* Returns the index of the first of the names that is in the folder `dir`, `count` if none is, or
 * -1 with an error. */
int file_first(const char *dir, const char *const *names, int count);
/* Sets *out to the path of `name` relative to the folder of the running program. Returns 0, or
 * -1 with an error if the system does not tell where the program is. */
int file_of_program(struct buf *out, const char *name);

/* Sets *out to the names in `dir` that end in `suffix` ("" for all), sorted by byte, without hidden
 * files. The caller frees them with file_names_release. Returns 0, or -1 with an error; then the
 * list is empty. */
struct file_names {
    char **names;
    size_t count, cap;
};
int file_list(struct file_names *out, const char *dir, const char *suffix);
int file_list_all(struct file_names *out, const char *dir); /* all names, hidden files, too */
/* Lists as file_list does; a folder that is missing has no names, which is no error. */
int file_list_there(struct file_names *out, const char *dir, const char *suffix);
/* Sets *out to the paths beside `path` that are temporary names for it (temp.h). The caller frees
 * them with file_names_release. Returns 0, also if there is no such folder, or -1 with an error. */
int file_list_left(struct file_names *out, const char *path);
/* Sets *out to the paths that match a shell pattern, sorted. Hidden files match only if the pattern
 * spells out their dot. The caller frees them with file_names_release. Returns 0, or -1 with an
 * error, also if nothing matches. */
int file_glob(struct file_names *out, const char *pattern);
void file_names_add(struct file_names *names, const char *name); /* copies it */
void file_names_release(struct file_names *names);

/* A read-only map of a regular file, which must not shrink while it is mapped (mapping.h). */
struct file_map {
    const unsigned char *data; /* NULL if the file is empty */
    uint64_t bytes;
};
int file_map(struct file_map *map, const char *path); /* 0, or -1 with an error and a zeroed map */
void file_unmap(struct file_map *map);                /* fine on a zeroed struct */
/* Returns the CRC32C of the `bytes` bytes from `first` on. Tells the system that they need not stay
 * in memory. */
uint32_t file_map_sum(const struct file_map *map, uint64_t first, uint64_t bytes);
/* Tells the system that these bytes need not stay in memory, nor those around them, since an access
 * also maps neighbouring pages. They are read from the file again when accessed. */
void file_map_leave(const struct file_map *map, uint64_t first, uint64_t bytes);
/* Checks a file against the checksum that output_begin_summed put at byte `at`. Returns 0, or -1
 * with an error that has both checksums but not the file's name. */
int file_map_check(const struct file_map *map, uint64_t at);

/* Returns -1 with an error if bytes[0..n), the start of the file `path`, are those of a git-lfs
 * pointer. */
int file_check_pointer(const char *path, const void *bytes, size_t n);

/* Returns the folder for temporary files, borrowed: $TMPDIR if set; /var/tmp; without that /tmp. */
const char *file_temporary_folder(void);

/* Creates a file without a name in `dir`, for reading and writing. Returns its descriptor, which
 * the caller closes, or -1 with an error. */
int file_nameless(const char *dir);

/* ---- sequential input ------------------------------------------------------------------- */

/* A buffered input that knows its byte offset. Only one thread may use it at a time. */
struct input {
    char *path; /* "<stdin>" for "-" */
    int fd;
    /* If not NULL, this function is called in place of reading fd: it stores up to n bytes and
     * returns their number, 0 at the end, or -1 with an error. `from` is its borrowed argument. */
    int64_t (*pull)(void *from, void *bytes, size_t n);
    void *from;
    int regular; /* 1: fd is a regular file, which has an end */
    off_t bytes; /* size of the regular file when it was opened: it must not become shorter */
    /* the most bytes of a line, set by the caller; 0: no limit. Of a pipe or a device at most 100
     * MiB in any case. input_line fails if the buffer holds more bytes without a line end. A line
     * whose end was read into the buffer in time may be longer. */
    size_t most;
    char *data; /* unread bytes of the buffer: data[begin..end) */
    size_t begin, end, cap;
    uint64_t offset; /* offset of data[begin] in the input */
    int eof;
};
/* input_open opens a file, or stdin if `path` is "-"; it returns 0, or -1 with an error and nothing
 * to close. From a named pipe it waits until a program writes to it. input_open_soon is for files
 * that are no stream of data, such as lists: it waits for two seconds, and then fails.
 * input_open_pulled opens an input that gets its bytes from `pull`; `path` stands for it
 * in errors, and is copied. */
int input_open(struct input *in, const char *path);
int input_open_soon(struct input *in, const char *path);
void input_open_pulled(struct input *in, const char *path,
                       int64_t (*pull)(void *from, void *bytes, size_t n), void *from);
void input_close(struct input *in); /* fine on a zeroed struct */

/* Reads until at least `want` bytes are available at data + begin, or the input ends. Returns the
 * number of bytes available there, or -1 with an error. They stay in place until the next input_
 * call. */
int64_t input_peek(struct input *in, size_t want);
void input_skip(struct input *in, size_t n); /* skips n bytes; n <= bytes available */

/* For formats that are not read in order. input_size sets *bytes to the size of a regular file that
 * is read directly; it returns 0, or -1 with an error for other inputs, such as pipes.
 * input_read_at stores the n bytes from `offset` on, all of which must be there; it does not change
 * the position of the input. It returns 0, or -1 with an error. */
int input_size(const struct input *in, uint64_t *bytes);
int input_read_at(const struct input *in, uint64_t offset, void *bytes, size_t n);

/* Reads the next line, without its LF but with a CR if it has one, and sets *line and *len to it.
 * Returns 1, 0 at the end, or -1 with an error. *line is valid until the next call. The last line
 * may lack its LF. in->most limits the length of a line. */
int input_line(struct input *in, char **line, size_t *len);

/* ---- output under a temporary name --------------------------------------------------------- */

/* An output file. Its bytes go to a temporary file in the same folder (temp.h). output_close
 * renames that file to `path` if every write, the flush and the fsync succeeded, and syncs the
 * folder: so the file also survives a power failure. After output_abandon, or if the process dies,
 * nothing appears at `path`. "-" is stdout, which has no temporary file and is only flushed; the
 * same holds for devices and pipes. If `path` is a symbolic link, the file it points to is
 * replaced, unless another user may have put the link there. After a failed write, output_flush and
 * output_close fail, too; output_write may only store its bytes. */
struct output {
    char *path, *temp; /* temp is NULL for stdout and devices */
    int fd;
    char *data;
    size_t len;
    uint64_t offset; /* bytes passed to output_write so far */
    size_t unsynced; /* bytes written since write-back was last started */
    int failed;      /* errno of the write that failed; 0: none */
    /* set by the caller: output_close syncs nothing, because the caller syncs a whole folder
     * later */
    int lazy;
    int late;      /* set by the caller, 1: the system is not asked to write to the disk before
                    * output_close, so that output_write returns at once */
    int goes;      /* 1: an older file to remove, which the new set does not have (output_remove) */
    int aside;     /* 1: the older file has a temporary name (output_close_all) */
    uint32_t crc;  /* of the bytes so far, if the file holds its own checksum */
    size_t crc_at; /* offset of that checksum in the file; 0: the file holds none */
};
/* Each returns 0, or -1 with an error. After an error of output_open, nothing is to be closed;
 * after other errors, call output_abandon. */
int output_open(struct output *out, const char *path);
int output_write(struct output *out, const void *bytes, size_t n);
int output_flush(struct output *out);
/* Flushes a file that is complete, and frees its buffer: output_close may follow much later. */
int output_complete(struct output *out);
/* Begins a file that holds its own checksum: writes head[0..n), where output_close replaces the
 * FILE_SUM_DIGITS bytes from `at` on by the CRC32C of all other bytes of the file, in hexadecimal.
 * `at` is not 0. The file must have a temporary name. Returns 0, or -1 with an error. */
enum { FILE_SUM_DIGITS = 8 };
int output_begin_summed(struct output *out, const void *head, size_t n, size_t at);
/* Flushes, syncs, closes and renames the file, and frees the struct, also after an error. Returns
 * 0, or -1 with an error: nothing was published, or the folder could not be synced. */
int output_close(struct output *out);

/* Closes several files that make one set: publishes all of them or none. The last file says that
 * the set is complete. Every file is synced to disk before the first one is renamed. Then the older
 * files of these names, and those given to output_remove, get temporary names, the last one first;
 * they are removed when the new set is published. The last new file is renamed when the others are
 * on the disk. So old and new files are never mixed, even after a power failure. Frees the structs.
 * Returns 0, or -1 with an error. After an error the older files have their own names, unless the
 * error says that one kept its temporary name. */
int output_close_all(struct output *outs, size_t count);
/* Makes `out` a file of a set for output_close_all that only removes the older file `path`. It must
 * be one of the first nine files of the set, and not the last one. */
void output_remove(struct output *out, const char *path);
void output_abandon(struct output *out); /* drops without publishing; fine on a zeroed struct */

/* Ends an output: calls output_close and returns its result if `result` is 0; else calls
 * output_abandon and returns `result`. output_end_all does so for a set of files. */
int output_end(struct output *out, int result);
int output_end_all(struct output *outs, size_t count, int result);

/* For work that is resumed later. output_resume continues after the first `bytes` bytes of the file
 * at `path`, which gets a temporary name; it returns 0, or -1 with an error. output_leave stores
 * the unfinished output at `path` (fine on a zeroed struct). Neither may be used for a `path` that
 * readers look at. */
int output_resume(struct output *out, const char *path, uint64_t bytes);
void output_leave(struct output *out);

/* Writes a small file as one output: it appears at `path` only if it is complete. Returns 0, or -1
 * with an error. */
int file_write(const char *path, const void *bytes, size_t n);

/* A file that only grows. */
struct file_log {
    char *path;
    FILE *file; /* NULL: not open */
};

/* file_log_open makes the file if it does not exist, and syncs its folder, so that the name
 * survives a power failure; it does not follow symbolic links. file_log_add appends bytes that
 * other processes see at once; file_log_sync waits until they are on the disk. file_log_close syncs
 * and is fine on a zeroed struct; call it even after an error of file_log_open. All return 0, or -1
 * with an error. */
int file_log_open(struct file_log *log, const char *path);
int file_log_add(struct file_log *log, const void *bytes, size_t n);
int file_log_sync(struct file_log *log);
int file_log_close(struct file_log *log);

/* Syncs the folder that holds `path` to disk, so that a rename in it survives a power failure.
 * Returns 0, or -1 with an error. */
int file_sync_dir(const char *path);

/* Returns the path to which `path` leads if it is a symbolic link: what is there is replaced, and
 * not the link. The caller frees it. Returns NULL with an error, also if another user may have put
 * the link there. */
char *file_resolve(const char *path);

/* Sets *real to the path without links, which the caller frees, or to NULL if nothing is there.
 * Returns 0, or -1 with an error. */
int file_real_path(char **real, const char *path);

/* Returns 1 if two paths name one file, which need not exist, however they are spelled; 0 if not;
 * -1 with an error. Of "-", devices and pipes only the names are compared: several outputs may go
 * there. */
int file_same(const char *a, const char *b);

/* Swaps the names of two files or folders atomically. Returns 1; 0 if the file system does not
 * support that; or -1 with an error. */
int file_swap(const char *a, const char *b);

/* Gives a file or folder another name. Returns 0, or -1 with an error. */
int file_rename(const char *from, const char *to);

/* Removes a file, never a folder. A missing file is no error. Returns 0, or -1 with an error. */
int file_remove(const char *path);
