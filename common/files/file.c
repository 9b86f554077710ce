#include "common/files/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/again.h"
#include "common/base/crc32c.h"
#include "common/base/log.h"
#include "common/base/order.h"
#include "common/files/mapping.h"
#include "common/files/temp.h"

enum {
    CHUNK = 256 * 1024,
    PIPE_BYTES = 1 << 20,
    SYNC_BYTES = 8 << 20,
    WRITER_MS = 2000,
    PIPE_MOST = 64 << 20,
    PIPE_LINE_MOST = 100 << 20
};
#define FILE_MOST (UINT64_C(4) << 30)

static int is_std(const char *path)
{
    return !strcmp(path, "-");
}

/* ---- whole files ------------------------------------------------------------------------ */

static int cannot_look(const char *path)
{
    return err_set("cannot access '%s': %s", path, strerror(errno));
}

/* Opens a regular file for reading and sets *st to its status. Returns its descriptor, or -1 with
 * an error. */
static int open_plain(const char *path, struct stat *st)
{
    /* O_NONBLOCK: otherwise opening a FIFO would wait for a writer */
    int fd = AGAIN(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd < 0)
        return err_set("cannot open '%s': %s", path, strerror(errno));
    if (fstat(fd, st) < 0)
        cannot_look(path);
    else if (!S_ISREG(st->st_mode))
        err_set("cannot read '%s': not a regular file", path);
    else
        return fd;
    close(fd);
    return -1;
}

/* Appends the rest of the input to `out`, and closes the input. Returns -1 with an error for more
 * than `most` bytes, or PIPE_MOST bytes of a pipe or device, which may have no end. */
static int read_whole(struct input *in, uint64_t most, struct buf *out)
{
    char size[32];
    int64_t n = 0;
    uint64_t bytes = 0;
    const size_t begin = out->len;
    int result = in->regular ? input_size(in, &bytes) : 0;
    if (!in->regular && most > PIPE_MOST)
        most = PIPE_MOST;
    while (!result && bytes <= most && (n = input_peek(in, 1)) > 0) {
        bytes = in->offset + (uint64_t)n;
        if (bytes <= most)
            buf_add(out, in->data + in->begin, (size_t)n);
        input_skip(in, (size_t)n);
    }
    if (bytes > most)
        result = err_set("cannot read '%s': it has more than %s", in->path, log_bytes(size, most));
    if (!result && n == 0)
        result = file_check_pointer(in->path, out->data + begin, out->len - begin);
    input_close(in);
    return n < 0 ? -1 : result;
}

int file_read_most(const char *path, uint64_t most, struct buf *out)
{
    struct input in;
    return input_open_soon(&in, path) < 0 ? -1 : read_whole(&in, most, out);
}

int file_read_any(const char *path, struct buf *out)
{
    return file_read_most(path, FILE_MOST, out);
}

int file_read(const char *path, struct buf *out)
{
    struct stat st;
    struct input in = { .fd = open_plain(path, &st), .regular = 1 };
    if (in.fd < 0)
        return -1;
    in.path = mem_strdup(path);
    return read_whole(&in, FILE_MOST, out);
}

/* Returns 1 if `path` names standard output, 2 if it names standard error, else -1. Output to such
 * a name is written to the open descriptor: its file may have other writers. */
static int standard_descriptor(const char *path)
{
    static const char *const names[] = { "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1",
                                         "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2" };
    for (int i = 0; i < 6; i++)
        if (!strcmp(path, names[i]))
            return 1 + i / 3;
    return -1;
}

/* As file_look; what is there is described in *st. */
static int look(const char *path, struct stat *st)
{
    if (stat(path, st) < 0)
        return errno == ENOENT || errno == ENOTDIR ? FILE_NONE : cannot_look(path);
    if (S_ISDIR(st->st_mode))
        return FILE_FOLDER;
    return S_ISREG(st->st_mode) && standard_descriptor(path) < 0 ? FILE_PLAIN : FILE_SPECIAL;
}

int file_look(const char *path)
{
    struct stat st;
    return look(path, &st);
}

int file_size(const char *path, uint64_t *bytes)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return cannot_look(path);
    *bytes = (uint64_t)st.st_size;
    return 0;
}

/* Returns the path of the folder that holds `path`, in a new buffer. */
static struct buf folder_of(const char *path)
{
    struct buf folder = file_beside(path, "");
    if (!folder.len)
        buf_adds(&folder, ".");
    return folder;
}

/* Returns -1 with an error if `path` is a symbolic link of another user in a folder in which all
 * users may write: it may lead anywhere. Else returns 0. */
static int check_link(const char *path)
{
    struct stat link, st;
    if (lstat(path, &link) < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : cannot_look(path);
    if (!S_ISLNK(link.st_mode) || link.st_uid == geteuid())
        return 0;
    SCOPED(buf) folder = folder_of(path);
    if (stat(folder.data, &st) < 0)
        return cannot_look(folder.data);
    return link.st_uid != st.st_uid && st.st_mode & S_IWOTH
               ? err_set("cannot write to '%s': it is a symbolic link of another user", path)
               : 0;
}

int file_rmdir(const char *path)
{
    return rmdir(path) == 0 || errno == ENOENT || errno == ENOTDIR || errno == ENOTEMPTY ||
                   errno == EEXIST
               ? 0
               : err_set("cannot remove folder '%s': %s", path, strerror(errno));
}

void file_rmdirs(const char *path, int made)
{
    SCOPED_MEM char *copy = mem_strdup(path);
    size_t n = strlen(copy);
    for (; made > 0; made--) {
        while (n > 1 && copy[n - 1] == '/')
            n--;
        copy[n] = '\0';
        if (rmdir(copy) < 0 && errno != ENOENT)
            break;
        while (n > 0 && copy[n - 1] != '/')
            n--;
    }
}

int file_mkdirs_count(const char *path, int *made)
{
    *made = 0;
    if (check_link(path) < 0)
        return -1;
    SCOPED_MEM char *copy = mem_strdup(path);
    int why = 0;
    for (char *p = copy + 1; !why && *copy; p++) {
        if (*p && *p != '/')
            continue;
        char c = *p;
        *p = '\0';
        if (mkdir(copy, 0777) < 0)
            why = errno == EEXIST ? 0 : errno;
        else if (++*made && file_sync_dir(copy) < 0)
            why = -1; /* the error is set */
        if (why) {
            copy[file_name(copy) - copy] = '\0';
            file_rmdirs(copy, *made);
        }
        *p = c;
        if (!c)
            break;
    }
    if (why < 0)
        return -1;
    const int kind = why ? FILE_FOLDER : file_look(path);
    if (kind < 0)
        return -1;
    if (kind != FILE_FOLDER)
        why = ENOTDIR;
    return why ? err_set("cannot make folder '%s': %s", path, strerror(why)) : 0;
}

int file_mkdirs(const char *path)
{
    int made;
    return file_mkdirs_count(path, &made);
}

struct buf file_path(const char *dir, const char *name)
{
    return buf_format("%s%s%s", dir, file_ends_with(dir, "/") ? "" : "/", name);
}

const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

struct buf file_beside(const char *path, const char *name)
{
    return buf_format("%.*s%s", (int)(file_name(path) - path), path, name);
}

int file_first(const char *dir, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        SCOPED(buf) path = file_path(dir, names[i]);
        const int there = file_look(path.data);
        if (there)
            return there < 0 ? -1 : i;
    }
    return count;
}

int file_of_program(struct buf *out, const char *name)
{
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0)
        return err_set("cannot tell where this program is: %s", strerror(errno));
    program[n] = '\0';
    *out = file_beside(program, name);
    return 0;
}

int file_ends_with(const char *s, const char *suffix)
{
    return bytes_end(s, strlen(s), suffix);
}

void file_names_add(struct file_names *out, const char *name)
{
    mem_next(out->names, out->count, out->cap) = mem_strdup(name);
}

static int list_names(struct file_names *out, const char *dir, const char *suffix, int hidden)
{
    *out = (struct file_names){ 0 };
    DIR *d = opendir(dir);
    if (!d)
        return err_set("cannot open folder '%s': %s", dir, strerror(errno));
    errno = 0; /* readdir reports an error through errno only */
    for (struct dirent *e; (e = readdir(d)); errno = 0)
        if ((e->d_name[0] != '.' ||
             (hidden && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)) &&
            file_ends_with(e->d_name, suffix))
            file_names_add(out, e->d_name);
    int why = errno;
    closedir(d);
    if (why) {
        file_names_release(out);
        return err_set("cannot read folder '%s': %s", dir, strerror(why));
    }
    mem_sort(out->names, out->count, order_texts);
    return 0;
}

int file_list(struct file_names *out, const char *dir, const char *suffix)
{
    return list_names(out, dir, suffix, 0);
}

int file_list_there(struct file_names *out, const char *dir, const char *suffix)
{
    const int kind = file_look(dir);
    *out = (struct file_names){ 0 };
    return kind == FILE_FOLDER ? file_list(out, dir, suffix) : kind < 0 ? -1 : 0;
}

int file_list_all(struct file_names *out, const char *dir)
{
    return list_names(out, dir, "", 1);
}

/* Appends the paths that match the pattern `rest` in the folder `base`, a path that ends in '/' or
 * "". */
static int match(struct file_names *out, const char *base, const char *rest)
{
    SCOPED(file_names) names = { 0 };
    size_t n = strcspn(rest, "/"), slashes = strspn(rest + n, "/");
    SCOPED_MEM char *part = mem_strndup(rest, n);
    const int kind = file_look(*base ? base : ".");
    int result = kind < 0 ? -1 : 0;
    if (kind == FILE_FOLDER && strpbrk(part, "*?["))
        result = file_list(&names, *base ? base : ".", "");
    else if (kind == FILE_FOLDER)
        file_names_add(&names, part);
    for (size_t i = 0; i < names.count && !result; i++) {
        if (strcmp(part, names.names[i]) && fnmatch(part, names.names[i], 0))
            continue;
        SCOPED(buf) path = buf_format("%s%s%.*s", base, names.names[i], (int)slashes, rest + n);
        if (rest[n]) {
            result = match(out, path.data, rest + n + slashes);
        } else {
            const int there = file_look(path.data);
            result = there < 0 ? -1 : 0;
            if (there > 0)
                file_names_add(out, path.data);
        }
    }
    return result;
}

int file_glob(struct file_names *out, const char *pattern)
{
    SCOPED(buf) root = BUF_INIT;
    size_t slashes = strspn(pattern, "/");
    *out = (struct file_names){ 0 };
    buf_add(&root, pattern, slashes);
    int result = match(out, root.data ? root.data : "", pattern + slashes);
    if (!result && !out->count)
        result = err_set("nothing matches '%s'", pattern);
    if (result < 0)
        file_names_release(out);
    return result;
}

void file_names_release(struct file_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (struct file_names){ 0 };
}

int file_check_pointer(const char *path, const void *bytes, size_t n)
{
    return bytes_begin(bytes, n, "version https://git-lfs")
               ? err_set("'%s' is a git-lfs pointer, not the file it stands for", path)
               : 0;
}

int file_map(struct file_map *map, const char *path)
{
    struct stat st;
    *map = (struct file_map){ 0 };
    int fd = open_plain(path, &st);
    if (fd < 0)
        return -1;
    if (st.st_size)
        map->data = mapping_new(fd, (uint64_t)st.st_size, PROT_READ, "'%s'", path);
    map->bytes = map->data ? (uint64_t)st.st_size : 0;
    close(fd);
    return st.st_size && !map->data ? -1 : 0;
}

enum { PIECE = 1 << 20 }; /* bytes whose pages file_map_sum has in memory at a time */

void file_map_leave(const struct file_map *map, uint64_t first, uint64_t bytes)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t begin = (first > PIECE ? first - PIECE : 0) / page * page;
    const uint64_t after = map->bytes - first - bytes;
    const uint64_t end = first + bytes + (after < PIECE ? after : PIECE);
    if (end > begin)
        madvise((void *)(uintptr_t)(map->data + begin), end - begin, MADV_DONTNEED);
}

/* Continues a CRC with the `bytes` bytes from `first` on. */
static uint32_t sum_on(uint32_t crc, const struct file_map *map, uint64_t first, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i += PIECE) {
        const uint64_t n = bytes - i < PIECE ? bytes - i : PIECE;
        crc = crc32c(crc, map->data + first + i, n);
        file_map_leave(map, first + i, n);
    }
    return crc;
}

uint32_t file_map_sum(const struct file_map *map, uint64_t first, uint64_t bytes)
{
    return sum_on(0, map, first, bytes);
}

int file_map_check(const struct file_map *map, uint64_t at)
{
    const uint64_t after = at + FILE_SUM_DIGITS;
    char digits[FILE_SUM_DIGITS + 1];
    snprintf(digits, sizeof digits, "%08x",
             sum_on(sum_on(0, map, 0, at), map, after, map->bytes - after));
    if (!memcmp(digits, map->data + at, FILE_SUM_DIGITS))
        return 0;
    return err_set("its checksum is %s and should be %.*s", digits, FILE_SUM_DIGITS,
                   (const char *)map->data + at);
}

void file_unmap(struct file_map *map)
{
    if (map->data)
        mapping_free((void *)(uintptr_t)map->data, map->bytes);
    *map = (struct file_map){ 0 };
}

const char *file_temporary_folder(void)
{
    const char *dir = getenv("TMPDIR");
    return dir && *dir ? dir : access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

int file_nameless(const char *dir)
{
    int fd = AGAIN(open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
        /* the file system does not support unnamed files */
        SCOPED(buf) path = file_path(dir, "textmill-XXXXXX");
        fd = mkostemp(path.data, O_CLOEXEC);
        if (fd >= 0 && unlink(path.data) < 0) {
            close(fd);
            return err_set("cannot remove '%s': %s", path.data, strerror(errno));
        }
    }
    return fd >= 0 ? fd : err_set("cannot make a temporary file in '%s': %s", dir, strerror(errno));
}

/* ---- sequential input ------------------------------------------------------------------- */

static int open_input(struct input *in, const char *path, int flags)
{
    struct stat st;
    *in = (struct input){ .fd = is_std(path) ? 0
                                             : AGAIN(open(path, O_RDONLY | O_CLOEXEC | flags)) };
    if (in->fd < 0)
        return err_set("cannot open '%s': %s", path, strerror(errno));
    in->regular = fstat(in->fd, &st) == 0 && S_ISREG(st.st_mode);
    in->bytes = in->regular ? st.st_size : 0;
    /* A larger pipe needs fewer switches. On other files the call fails, which does no harm. */
    fcntl(in->fd, F_SETPIPE_SZ, PIPE_BYTES);
    in->path = mem_strdup(is_std(path) ? "<stdin>" : path);
    return 0;
}

int input_open(struct input *in, const char *path)
{
    return open_input(in, path, 0);
}

/* Reads the first bytes of a pipe that was opened without blocking. Opening it with blocking would
 * wait for a writer for ever. Returns 0, or -1 with an error if no writer came for two seconds. */
static int wait_for_writer(struct input *in)
{
    struct pollfd one = { .fd = in->fd, .events = POLLIN };
    AGAIN(poll(&one, 1, WRITER_MS));
    mem_grow(in->data, in->cap, CHUNK);
    const ssize_t n = AGAIN(read(in->fd, in->data, in->cap));
    in->end = n > 0 ? (size_t)n : 0;
    in->eof = n == 0;
    return n || one.revents
               ? 0
               : err_set("cannot read '%s': it is a pipe, and no program writes to it", in->path);
}

int input_open_soon(struct input *in, const char *path)
{
    struct stat st;
    int result = open_input(in, path, O_NONBLOCK);
    if (result < 0 || is_std(path))
        return result;
    result = fstat(in->fd, &st) < 0 ? cannot_look(path) : 0;
    if (!result && S_ISFIFO(st.st_mode))
        result = wait_for_writer(in);
    if (!result && fcntl(in->fd, F_SETFL, 0) < 0)
        result = cannot_look(path);
    if (result < 0)
        input_close(in);
    return result;
}

void input_open_pulled(struct input *in, const char *path,
                       int64_t (*pull)(void *from, void *bytes, size_t n), void *from)
{
    *in = (struct input){ .path = mem_strdup(path), .fd = -1, .pull = pull, .from = from };
}

void input_close(struct input *in)
{
    if (in->path && in->fd > 0)
        close(in->fd);
    free(in->path);
    free(in->data);
    *in = (struct input){ 0 };
}

static int64_t read_some(struct input *in, void *bytes, size_t n)
{
    struct stat st;
    const ssize_t got = AGAIN(read(in->fd, bytes, n));
    const int shorter = !got && in->bytes && fstat(in->fd, &st) == 0 && st.st_size < in->bytes;
    return got < 0 || shorter ? err_set("cannot read '%s' at byte %llu: %s", in->path,
                                        (unsigned long long)(in->offset + in->end - in->begin),
                                        shorter ? "the file has become shorter" : strerror(errno))
                              : got;
}

/* Reads more bytes into the buffer. Returns 1, 0 at the end, or -1 with an error. */
static int fill(struct input *in)
{
    if (in->begin && in->begin == in->end)
        in->begin = in->end = 0;
    if (in->cap - in->end < CHUNK / 2 && in->begin > in->cap / 2) {
        memmove(in->data, in->data + in->begin, in->end - in->begin);
        in->end -= in->begin;
        in->begin = 0;
    }
    mem_grow(in->data, in->cap, in->end + CHUNK);
    int64_t n = in->pull ? in->pull(in->from, in->data + in->end, in->cap - in->end)
                         : read_some(in, in->data + in->end, in->cap - in->end);
    if (n < 0)
        return -1;
    in->end += (size_t)n;
    in->eof = !n;
    return n > 0;
}

int64_t input_peek(struct input *in, size_t want)
{
    while (in->end - in->begin < want && !in->eof)
        if (fill(in) < 0)
            return -1;
    return (int64_t)(in->end - in->begin);
}

void input_skip(struct input *in, size_t n)
{
    in->begin += n;
    in->offset += n;
}

int input_size(const struct input *in, uint64_t *bytes)
{
    struct stat st;
    if (in->pull)
        return err_set(
            "the format is read from its end, so the file must not be compressed: unpack it");
    if (fstat(in->fd, &st) < 0)
        return err_set("%s", strerror(errno));
    *bytes = (uint64_t)st.st_size;
    return S_ISREG(st.st_mode)
               ? 0
               : err_set("the format is read from its end, so it needs a file, not a pipe");
}

int input_read_at(const struct input *in, uint64_t offset, void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = AGAIN(pread(in->fd, (char *)bytes + done, n - done, (off_t)(offset + done)));
        if (got <= 0)
            return err_set("cannot read '%s' at byte %llu: %s", in->path,
                           (unsigned long long)(offset + done),
                           got ? strerror(errno) : "the file has become shorter");
        done += (size_t)got;
    }
    return 0;
}

int input_line(struct input *in, char **line, size_t *len)
{
    size_t seen = 0, most = in->most ? in->most : SIZE_MAX;
    if (!in->regular && most > PIPE_LINE_MOST)
        most = PIPE_LINE_MOST;
    for (;;) {
        char *start = in->data ? in->data + in->begin : NULL;
        size_t there = in->end - in->begin;
        char *lf = there > seen ? memchr(start + seen, '\n', there - seen) : NULL;
        if (lf || in->eof) {
            if (!lf && !there)
                return 0;
            *line = start;
            *len = lf ? (size_t)(lf - start) : there;
            input_skip(in, *len + (lf != NULL));
            return 1;
        }
        seen = there;
        if (seen > most)
            return err_set("%s: the line at byte %llu is longer than %zu bytes", in->path,
                           (unsigned long long)in->offset, most);
        if (fill(in) < 0)
            return -1;
    }
}

/* ---- output under a temporary name ------------------------------------------------------- */

int file_real_path(char **real, const char *path)
{
    *real = realpath(path, NULL);
    return *real || errno == ENOENT || errno == ENOTDIR ? 0 : cannot_look(path);
}

char *file_resolve(const char *path)
{
    struct stat st = { 0 };
    if (check_link(path) < 0)
        return NULL;
    int failed = lstat(path, &st) < 0 && errno != ENOENT && errno != ENOTDIR;
    char *target = NULL;
    if (!failed && S_ISLNK(st.st_mode) && !(target = realpath(path, NULL))) {
        /* what the link leads to may be made only now: then one link is followed after the other */
        char to[4096];
        const ssize_t n = errno == ENOENT || errno == ENOTDIR ? readlink(path, to, sizeof to) : -1;
        if (n > 0) {
            SCOPED(buf) next = buf_format(
                "%.*s%.*s", *to == '/' ? 0 : (int)(file_name(path) - path), path, (int)n, to);
            return file_resolve(next.data);
        }
        failed = 1;
    }
    if (failed)
        cannot_look(path);
    return failed || target ? target : mem_strdup(path);
}

/* Writes the place of a file: its folder, without links and "..", and its name; nothing if there is
 * no such folder. Returns 0, or -1 with an error. */
static int place_of(struct buf *place, const char *path)
{
    SCOPED_MEM char *target = file_resolve(path), *folder = NULL;
    SCOPED(buf) above = folder_of(target ? target : path);
    if (!target || file_real_path(&folder, above.data) < 0)
        return -1;
    if (folder)
        buf_addf(place, "%s/%s", folder, file_name(target));
    return 0;
}

int file_same(const char *a, const char *b)
{
    struct stat x = { 0 }, y = { 0 };
    if (!strcmp(a, b) || is_std(a) || is_std(b))
        return !strcmp(a, b);
    const int kind = look(a, &x), other = look(b, &y);
    if (kind < 0 || other < 0)
        return -1;
    if (kind != other || kind == FILE_SPECIAL || x.st_ino != y.st_ino || x.st_dev != y.st_dev)
        return 0;
    SCOPED(buf) first = BUF_INIT, second = BUF_INIT;
    if (place_of(&first, a) < 0 || place_of(&second, b) < 0)
        return -1;
    return first.len && first.len == second.len && !memcmp(first.data, second.data, first.len);
}

/* Opens standard output, a device, a pipe or a socket for writing, without a temporary file, since
 * no file may replace it. */
static int open_special(struct output *out, const char *path)
{
    const int fd = standard_descriptor(path);
    *out = (struct output){ .fd = is_std(path) ? 1
                                  : fd > 0     ? fcntl(fd, F_DUPFD_CLOEXEC, 0)
                                               : AGAIN(open(path, O_WRONLY | O_CLOEXEC)) };
    if (out->fd < 0)
        return err_set("cannot open '%s': %s", path, strerror(errno));
    out->path = mem_strdup(is_std(path) ? "<stdout>" : path);
    out->data = mem_alloc(CHUNK);
    return 0;
}

static int open_temporary(struct output *out, const char *path)
{
    SCOPED(buf) temp = BUF_INIT;
    if (!(out->path = file_resolve(path)))
        return -1;
    out->fd = temp_create(&temp, out->path);
    if (out->fd < 0) {
        free(out->path);
        *out = (struct output){ 0 };
        return -1;
    }
    out->temp = buf_detach(&temp);
    out->data = mem_alloc(CHUNK);
    return 0;
}

int output_open(struct output *out, const char *path)
{
    *out = (struct output){ .fd = 1 };
    const int kind = is_std(path) ? FILE_SPECIAL : check_link(path) < 0 ? -1 : file_look(path);
    if (kind < 0)
        return -1;
    if (kind == FILE_FOLDER) /* fails now, rather than at the rename after all the work */
        return err_set("cannot create '%s': %s", path, strerror(EISDIR));
    return kind == FILE_SPECIAL ? open_special(out, path) : open_temporary(out, path);
}

void output_remove(struct output *out, const char *path)
{
    *out = (struct output){ .path = mem_strdup(path), .fd = -1, .goes = 1 };
}

static int write_all(struct output *out, const char *bytes, size_t n)
{
    for (size_t left = n; left;) {
        ssize_t w = AGAIN(write(out->fd, bytes, left));
        if (w < 0) {
            out->failed = errno;
            return err_set("cannot write '%s': %s", out->path, strerror(errno));
        }
        bytes += w;
        left -= (size_t)w;
    }
    out->unsynced += n;
    if (!out->temp || out->lazy || out->late || out->unsynced < SYNC_BYTES)
        return 0;
    /* so that the fsync at the end has little to wait for; only a hint: fsync reports errors */
    out->unsynced = 0;
    sync_file_range(out->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return 0;
}

int output_flush(struct output *out)
{
    if (out->failed)
        return err_set("cannot write '%s': %s", out->path, strerror(out->failed));
    size_t n = out->len;
    out->len = 0;
    return write_all(out, out->data, n);
}

int output_complete(struct output *out)
{
    const int result = output_flush(out);
    free(out->data);
    out->data = NULL;
    return result;
}

int output_write(struct output *out, const void *bytes, size_t n)
{
    if (out->crc_at)
        out->crc = crc32c(out->crc, bytes, n);
    out->offset += n;
    if (out->len + n > CHUNK && output_flush(out) < 0)
        return -1;
    if (n >= CHUNK)
        return out->failed ? -1 : write_all(out, bytes, n);
    memcpy(out->data + out->len, bytes, n);
    out->len += n;
    return 0;
}

int output_begin_summed(struct output *out, const void *head, size_t n, size_t at)
{
    const size_t after = at + FILE_SUM_DIGITS;
    assert(out->temp && !out->offset && at && after <= n);
    int failed = output_write(out, head, n);
    out->crc_at = at;
    out->crc = crc32c(crc32c(0, head, at), (const char *)head + after, n - after);
    return failed;
}

/* Writes the checksum into its place. */
static int write_sum(struct output *out)
{
    char digits[FILE_SUM_DIGITS + 1];
    snprintf(digits, sizeof digits, "%08x", out->crc);
    if (lseek(out->fd, (off_t)out->crc_at, SEEK_SET) < 0)
        return err_set("cannot write '%s': %s", out->path, strerror(errno));
    return write_all(out, digits, FILE_SUM_DIGITS);
}

static void output_free(struct output *out)
{
    free(out->path);
    free(out->temp);
    free(out->data);
    *out = (struct output){ 0 };
}

/* Flushes the buffer and syncs the file to disk. */
static int finish(struct output *out)
{
    if (out->goes)
        return 0;
    if (output_flush(out) < 0 || (out->crc_at && write_sum(out) < 0))
        return -1;
    if (out->temp && !out->lazy && AGAIN(fsync(out->fd)) < 0 && errno != EINVAL && errno != EROFS)
        return err_set("cannot write '%s': %s", out->path, strerror(errno));
    int fd = out->fd;
    if (fd == 1)
        return 0;
    out->fd = -1;
    return close(fd) < 0 ? err_set("cannot close '%s': %s", out->path, strerror(errno)) : 0;
}

static int publish(const struct output *out)
{
    if (!out->temp)
        return 0;
    if (file_rename(out->temp, out->path) < 0)
        return -1;
    temp_forget(out->temp);
    return 0;
}

/* Syncs the folders of the first `count` outputs. Allocates nothing, as it runs between renames. */
static int sync_folders(const struct output *outs, size_t count)
{
    const char *last = NULL;
    size_t last_bytes = 0;
    int result = 0;
    for (size_t i = 0; i < count && !result; i++) {
        if (!outs[i].temp || outs[i].lazy)
            continue;
        const char *path = outs[i].path;
        const size_t bytes = (size_t)(file_name(path) - path);
        if (!last || bytes != last_bytes || strncmp(path, last, bytes) != 0)
            result = file_sync_dir(path);
        last = path;
        last_bytes = bytes;
    }
    return result;
}

/* Sets `name` to the temporary name for the older file that outs[i] replaces or removes. The file
 * has that name until the whole new set is published. If the run is killed, the next run removes
 * it; from the older last file, that run learns which set was being replaced. The name is made from
 * that of the new file, or for a file without a new one from that of the set's last file, since the
 * next run looks for these. Returns 1, or 0 if outs[i] is a device or a pipe. */
static int name_older(const struct output *outs, size_t count, size_t i, char name[4096])
{
    assert(!outs[i].goes || i < 9); /* so many of the 10 random letters are left */
    const char *temp = outs[i].goes ? outs[count - 1].temp : outs[i].temp;
    const int n = temp ? snprintf(name, 4096, "%s", temp) : 0;
    if (!n || n >= 4096)
        return 0;
    char *letter = name + n - (outs[i].goes ? i + 2 : 1);
    *letter = *letter == 'a' ? 'b' : 'a';
    return 1;
}

/* Gives the file that `out` replaces the name `older`. Returns 0, also if there is none, or -1 with
 * an error. */
static int set_aside(struct output *out, const char *older)
{
    struct stat st;
    if (lstat(out->path, &st) == 0 && S_ISDIR(st.st_mode))
        errno = EISDIR;
    else if ((out->aside = rename(out->path, older) == 0) || errno == ENOENT)
        return 0;
    return err_set("cannot replace '%s': %s", out->path, strerror(errno));
}

/* Gives the files of the older set temporary names. The last file says that a set is complete. It
 * is renamed first, and its folder synced, so that the files that are left never look like a
 * complete set, even after a power failure. Returns 0, or -1 with an error. */
static int move_older(struct output *outs, size_t count)
{
    char older[4096];
    int result = 0;
    for (size_t i = count; i-- > 0 && !result;)
        if (name_older(outs, count, i, older)) {
            result = set_aside(&outs[i], older);
            if (!result && i + 1 == count)
                result = sync_folders(outs + i, 1);
        }
    return result;
}

/* Gives the older files their own names again, and removes the first `published` new files. The
 * last file is renamed only if all others were. If one cannot be renamed, the error says so, too.
 */
static void restore_older(const struct output *outs, size_t count, size_t published)
{
    char older[4096];
    const char *lost = NULL;
    for (size_t i = 0; i < count; i++) {
        const int stays = outs[i].aside && name_older(outs, count, i, older) &&
                          ((lost && i + 1 == count) || rename(older, outs[i].path) < 0);
        if (i < published && outs[i].temp && (!outs[i].aside || stays))
            unlink(outs[i].path);
        lost = stays && !lost ? outs[i].path : lost;
    }
    if (lost) {
        SCOPED(buf) why = buf_format("%s", err_get());
        err_set("%s; the older '%s' keeps a temporary name", why.data, lost);
    }
}

/* Gives the new files their own names, the last one when the others are on the disk. Returns 0, or
 * -1 with an error: then the older files have their names again (restore_older). */
static int publish_all(struct output *outs, size_t count)
{
    char older[4096];
    size_t published = 0;
    int result = count > 1 ? move_older(outs, count) : 0;
    while (published < count && !result) {
        if (published && published + 1 == count)
            result = sync_folders(outs, published);
        if (!result && !(result = publish(&outs[published])))
            published++;
    }
    if (result)
        restore_older(outs, count, published);
    for (size_t i = 0; i < count && !result; i++)
        if (outs[i].aside && name_older(outs, count, i, older))
            unlink(older); /* if that fails, the next run does it */
    return result;
}

int output_close_all(struct output *outs, size_t count)
{
    int result = 0;
    for (size_t i = 0; i < count && !result; i++)
        result = finish(&outs[i]);
    if (!result)
        result = publish_all(outs, count);
    const int whole = !result;
    if (whole)
        result = sync_folders(outs, count);
    for (size_t i = 0; i < count; i++)
        (whole ? output_free : output_abandon)(&outs[i]);
    return result;
}

int output_close(struct output *out)
{
    return output_close_all(out, 1);
}

/* Opens for writing a file that an interrupted run left. Refuses links, also hard ones, since other
 * names would change, too. Returns its descriptor, locked, or -1 with errno. */
static int open_left(const char *path)
{
    struct stat st;
    int fd = AGAIN(open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd < 0)
        return -1;
    int failed = AGAIN(flock(fd, LOCK_EX | LOCK_NB)) < 0 || fstat(fd, &st) < 0, why = errno;
    if (!failed && (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != geteuid())) {
        failed = 1;
        why = EPERM;
    }
    if (failed)
        close(fd);
    errno = why;
    return failed ? -1 : fd;
}

int output_resume(struct output *out, const char *path, uint64_t bytes)
{
    struct buf temp = BUF_INIT;
    *out = (struct output){ .fd = open_left(path), .offset = bytes };
    /* the new name is taken before it is given to the old file */
    int placeholder = out->fd < 0 ? -1 : temp_create(&temp, path);
    if (placeholder < 0 || AGAIN(ftruncate(out->fd, (off_t)bytes)) < 0 ||
        lseek(out->fd, 0, SEEK_END) < 0 || rename(path, temp.data) < 0) {
        err_set("cannot continue '%s': %s", path, strerror(errno));
        if (placeholder >= 0) {
            struct err why = err_keep();
            temp_drop(temp.data, placeholder);
            err_restore(&why);
        }
        if (out->fd >= 0)
            close(out->fd);
        buf_release(&temp);
        *out = (struct output){ 0 };
        return -1;
    }
    close(placeholder);
    out->temp = buf_detach(&temp);
    out->path = mem_strdup(path);
    out->data = mem_alloc(CHUNK);
    return 0;
}

void output_leave(struct output *out)
{
    if (out->temp && !out->failed && output_flush(out) == 0)
        rename(out->temp, out->path);
    output_abandon(out);
}

void output_abandon(struct output *out)
{
    if (!out->path)
        return;
    if (out->temp) {
        if (out->fd >= 0)
            close(out->fd);
        unlink(out->temp);
        temp_forget(out->temp);
    } else if (out->fd > 1) {
        close(out->fd);
    }
    output_free(out);
}

int output_end(struct output *out, int result)
{
    return output_end_all(out, 1, result);
}

int output_end_all(struct output *outs, size_t count, int result)
{
    if (!result)
        result = output_close_all(outs, count);
    for (size_t i = 0; i < count; i++)
        output_abandon(&outs[i]); /* those that output_close_all has not ended */
    return result;
}

int file_log_open(struct file_log *log, const char *path)
{
    int fd = AGAIN(
        open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    *log = (struct file_log){ mem_strdup(path), fd >= 0 ? fdopen(fd, "a") : NULL };
    if (log->file)
        return file_sync_dir(path);
    err_set("cannot open '%s': %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

int file_log_add(struct file_log *log, const void *bytes, size_t n)
{
    if (fwrite(bytes, 1, n, log->file) != n || fflush(log->file))
        return err_set("cannot write '%s': %s", log->path, strerror(errno));
    return 0;
}

int file_log_sync(struct file_log *log)
{
    if (fflush(log->file) || AGAIN(fsync(fileno(log->file))) < 0)
        return err_set("cannot write '%s': %s", log->path, strerror(errno));
    return 0;
}

int file_log_close(struct file_log *log)
{
    int result = log->file ? file_log_sync(log) : 0;
    if (log->file && fclose(log->file))
        result = err_set("cannot close '%s': %s", log->path, strerror(errno));
    free(log->path);
    *log = (struct file_log){ 0 };
    return result;
}

int file_write(const char *path, const void *bytes, size_t n)
{
    struct output out;
    return output_open(&out, path) < 0 ? -1 : output_end(&out, output_write(&out, bytes, n));
}

int file_sync_dir(const char *path)
{
    char dir[4096]; /* no allocation, which could fail between renames */
    const int n = (int)(file_name(path) - path);
    snprintf(dir, sizeof dir, "%.*s", n ? n : 1, n ? path : ".");
    int fd = n < (int)sizeof dir ? AGAIN(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) : -1;
    if (fd < 0 && errno == EACCES) { /* a folder in which the user may write but not look */
        sync();
        return 0;
    }
    if (fd < 0)
        return err_set("cannot open the folder of '%s': %s", path, strerror(errno));
    int failed = AGAIN(fsync(fd)) < 0 && errno != EINVAL && errno != EROFS;
    close(fd);
    return failed ? err_set("cannot sync the folder of '%s': %s", path, strerror(errno)) : 0;
}

int file_swap(const char *a, const char *b)
{
    enum { EXCHANGE = 2 }; /* RENAME_EXCHANGE of <linux/fs.h>; not every libc has renameat2 */
    if (syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, EXCHANGE) == 0)
        return 1;
    return errno == EINVAL || errno == ENOSYS
               ? 0
               : err_set("cannot swap '%s' and '%s': %s", a, b, strerror(errno));
}

int file_remove(const char *path)
{
    if (unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR)
        return 0;
    return err_set("cannot remove '%s': %s", path, strerror(errno));
}

int file_rename(const char *from, const char *to)
{
    return rename(from, to) == 0
               ? 0
               : err_set("cannot rename '%s' to '%s': %s", from, to, strerror(errno));
}

int file_list_left(struct file_names *out, const char *path)
{
    SCOPED(buf) folder = folder_of(path), stem = BUF_INIT;
    SCOPED(file_names) all = { 0 };
    temp_stem(&stem, path);
    const char *name = file_name(stem.data);
    *out = (struct file_names){ 0 };
    int result = file_look(folder.data);
    if (result > 0)
        result = file_list_all(&all, folder.data);
    for (size_t i = 0; i < all.count; i++) {
        if (temp_base(all.names[i]) != strlen(name) || strncmp(all.names[i], name, strlen(name)))
            continue;
        SCOPED(buf) left = file_beside(path, all.names[i]);
        file_names_add(out, left.data);
    }
    return result;
}
