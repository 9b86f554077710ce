/*
 * synced.so, for LD_PRELOAD: what would be left after a power cut? The disk holds each file and
 * each folder as it was when the program started, or when the program last synced it (fsync,
 * syncfs). A folder is the list of its names and of the files behind them; names of temporary files
 * do not count. Checks, below the current folder:
 *
 *   - What gets a final name (rename) is on the disk before, with all that is in it.
 *   - When the program ends, all is on the disk.
 *   - If SYNCED_LAST is set, it is the name that says that a set of files is complete, in the
 * folder of the set. It is the first that goes, and gone on the disk before a file of a new set
 *     appears. When it appears, the others are on the disk.
 *
 * When the program ends, a line for each violation is written to the file SYNCED_REPORT, and last
 * "changed N": the number of files and folders that are new or other than at the start.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 4096 };

static struct thing {
    dev_t dev;
    ino_t ino;
    uint64_t at_start, on_disk; /* hashes of the content; 0: not there */
} things[MOST];
static size_t count;
static int changed;
static const char *last; /* SYNCED_LAST, or NULL */
static int last_on_disk;
static char *report;
static size_t report_bytes;
static FILE *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void say(const char *what, const char *path)
{
    if (out)
        fprintf(out, "%s: %s\n", path, what);
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

static int is_temporary(const char *path)
{
    return strstr(path, ".textmill-") != NULL;
}

/* Returns a hash of the content of a file or folder. The order of names does not matter. */
static uint64_t content(const char *path, const struct stat *st)
{
    char bytes[1 << 16];
    uint64_t hash = 0xcbf29ce484222325u;
    if (S_ISDIR(st->st_mode)) {
        DIR *dir = opendir(path);
        for (struct dirent *e; dir && (e = readdir(dir));)
            if (*e->d_name != '.')
                hash += is_temporary(e->d_name) ? 0 : mix(e->d_ino, e->d_name, strlen(e->d_name));
        if (dir)
            closedir(dir);
        return hash;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t n; fd >= 0 && (n = read(fd, bytes, sizeof bytes)) > 0;)
        hash = mix(hash, bytes, (size_t)n);
    if (fd >= 0)
        close(fd);
    return hash;
}

static struct thing *find(const struct stat *st)
{
    size_t i = 0;
    while (i < count && (things[i].dev != st->st_dev || things[i].ino != st->st_ino))
        i++;
    if (i == MOST)
        abort();
    if (i == count)
        things[count++] = (struct thing){ .dev = st->st_dev, .ino = st->st_ino };
    return &things[i];
}

static int is_thing(const struct stat *st)
{
    return S_ISREG(st->st_mode) || S_ISDIR(st->st_mode);
}

/* ---- for nftw ------------------------------------------------------------------------------ */

static int remember(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)type;
    (void)where;
    if (is_thing(st))
        find(st)->on_disk = content(path, st);
    return 0;
}

static int remember_start(const char *path, const struct stat *st, int type, struct FTW *where)
{
    remember(path, st, type, where);
    if (is_thing(st))
        find(st)->at_start = find(st)->on_disk;
    return 0;
}

static int check(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)type;
    (void)where;
    if (is_thing(st) && find(st)->on_disk != content(path, st))
        say("not on the disk", path);
    return 0;
}

static int check_end(const char *path, const struct stat *st, int type, struct FTW *where)
{
    if (is_temporary(path) || !is_thing(st))
        return 0;
    check(path, st, type, where);
    changed += find(st)->at_start != content(path, st);
    return 0;
}

static void each(const char *path, __nftw_func_t act)
{
    nftw(path, act, 16, FTW_PHYS);
}

/* ---- calls --------------------------------------------------------------------------------- */

static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void folder_of(char folder[4096], const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(folder, 4096, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
}

static int is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* Sets *st to the folder of the set. Returns 1, or 0 if there is none. */
static int set_folder(struct stat *st)
{
    char folder[4096];
    if (!last)
        return 0;
    folder_of(folder, last);
    return stat(folder, st) == 0;
}

/* Returns 1 if `path` is a final name in the folder `set`, else 0. */
static int is_in_set(const char *path, const struct stat *set)
{
    char folder[4096];
    struct stat st;
    folder_of(folder, path);
    return !is_temporary(path) && stat(folder, &st) == 0 && st.st_ino == set->st_ino &&
           st.st_dev == set->st_dev;
}

static int is_last(const char *path)
{
    return !strcmp(base(path), base(last));
}

static void before_removal(const char *path)
{
    struct stat set;
    if (set_folder(&set) && is_in_set(path, &set) && !is_last(path) && is_there(path) &&
        is_there(last))
        say("goes before the name that says that the older set is complete", path);
}

static void before_rename(const char *from, const char *to)
{
    struct stat set;
    pthread_mutex_lock(&lock);
    if (!is_temporary(to))
        each(from, check);
    before_removal(from);
    if (set_folder(&set) && is_in_set(to, &set)) {
        char folder[4096];
        folder_of(folder, last);
        if (is_last(to))
            check(folder, &set, 0, NULL);
        else if (last_on_disk)
            say("appears while the disk says that the older set is complete", to);
    }
    pthread_mutex_unlock(&lock);
}

int fsync(int fd)
{
    char path[64];
    struct stat st;
    int result = REAL(fsync)(fd);
    pthread_mutex_lock(&lock);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!result && fstat(fd, &st) == 0) {
        remember(path, &st, 0, NULL);
        struct stat set;
        if (set_folder(&set) && set.st_ino == st.st_ino && set.st_dev == st.st_dev)
            last_on_disk = is_there(last);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int syncfs(int fd)
{
    int result = REAL(syncfs)(fd);
    pthread_mutex_lock(&lock);
    if (!result)
        each(".", remember);
    pthread_mutex_unlock(&lock);
    return result;
}

int rename(const char *from, const char *to)
{
    before_rename(from, to);
    return REAL(rename)(from, to);
}

int unlink(const char *path)
{
    pthread_mutex_lock(&lock);
    before_removal(path);
    pthread_mutex_unlock(&lock);
    return REAL(unlink)(path);
}

long syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_renameat2)
        before_rename((const char *)a[1], (const char *)a[3]);
    return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

__attribute__((constructor)) static void start(void)
{
    last = getenv("SYNCED_LAST");
    last = last && *last ? last : NULL;
    last_on_disk = last && is_there(last);
    out = open_memstream(&report, &report_bytes);
    each(".", remember_start);
}

__attribute__((destructor)) static void stop(void)
{
    each(".", check_end);
    if (last && !is_there(last))
        say("not there", last);
    fclose(out);
    FILE *f = fopen(getenv("SYNCED_REPORT"), "w");
    if (f) {
        fprintf(f, "%schanged %d\n", report, changed);
        fclose(f);
    }
}
