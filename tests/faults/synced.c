/*
 * synced.so, for LD_PRELOAD: checks that everything a program renames is on the disk. A regular
 * file must be synced after its last write before it is renamed, and so must the files in a folder
 * that is renamed. The folder SYNCED_FOLDER must be synced after the last name appeared in it. When
 * the program ends, a line for each file or folder that was not synced is written to SYNCED_REPORT,
 * and last "renames N".
 *
 * Only fsync of single files is recorded; syncfs is not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 4096 };

/* Files that were written, and folders in which a name appeared. */
static struct {
    dev_t dev;
    ino_t ino;
    int dirty;
} things[MOST];
static int count, renames;
static char *report;
static size_t report_bytes;
static FILE *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void say(const char *what, const char *path)
{
    if (!out)
        out = open_memstream(&report, &report_bytes);
    if (out)
        fprintf(out, "%s: %s\n", what, path);
}

/* Returns the index of a file's entry; makes one if `make` is 1. -1: there is none. */
static int find(const struct stat *st, int make)
{
    for (int i = 0; i < count; i++)
        if (things[i].dev == st->st_dev && things[i].ino == st->st_ino)
            return i;
    if (!make || count == MOST)
        return -1;
    things[count].dev = st->st_dev;
    things[count].ino = st->st_ino;
    return count++;
}

static void mark(const struct stat *st, int dirty)
{
    pthread_mutex_lock(&lock);
    int i = find(st, dirty);
    if (i >= 0)
        things[i].dirty = dirty;
    pthread_mutex_unlock(&lock);
}

ssize_t write(int fd, const void *from, size_t n)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        mark(&st, 1);
    return REAL(write)(fd, from, n);
}

int fsync(int fd)
{
    struct stat st;
    int result = REAL(fsync)(fd);
    if (!result && fstat(fd, &st) == 0)
        mark(&st, 0);
    return result;
}

static int check(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)type;
    (void)where;
    pthread_mutex_lock(&lock);
    int i = S_ISREG(st->st_mode) ? find(st, 0) : -1;
    if (i >= 0 && things[i].dirty)
        say("renamed and not synced", path);
    pthread_mutex_unlock(&lock);
    return 0;
}

int rename(const char *from, const char *to)
{
    struct stat st;
    char folder[4096];
    nftw(from, check, 16, FTW_PHYS);
    int result = REAL(rename)(from, to);
    const char *slash = strrchr(to, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - to) : 1, slash ? to : ".");
    if (!result && stat(folder, &st) == 0)
        mark(&st, 1);
    renames += !result;
    return result;
}

__attribute__((destructor)) static void stop(void)
{
    const char *path = getenv("SYNCED_REPORT");
    const char *folder = getenv("SYNCED_FOLDER");
    struct stat st;
    int i = folder && stat(folder, &st) == 0 ? find(&st, 0) : -1;
    if (folder && (i < 0 || things[i].dirty))
        say(i < 0 ? "no name has appeared in" : "has a new name in it and is not synced", folder);
    if (out)
        fclose(out);
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%srenames %d\n", report ? report : "", renames);
        fclose(f);
    }
}
