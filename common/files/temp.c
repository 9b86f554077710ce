#include "common/files/temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/again.h"
#include "common/base/hash.h"
#include "common/base/utf8.h"

/* `lock` guards the list of temporaries, `looking` the cache of names */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, looking = PTHREAD_MUTEX_INITIALIZER;

/* ---- removing: system calls only, for a handler of signals ---------------------------------- */

struct entry { /* a folder entry as getdents64 returns it */
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static const char SUFFIX[] = ".textmill-"; /* in temporary names and in the names of marks */

static int remove_at(int at, const char *name);

/* Removes an open folder's entries in one pass, marks only if `marks` is 1. Returns the number
 * removed, or -1 with errno. An entry that another thread moves away meanwhile is no failure. */
static int remove_entries(int fd, int marks)
{
    _Alignas(struct entry) char list[4096];
    int gone = 0, failed = 0;
    long n;
    lseek(fd, 0, SEEK_SET);
    while ((n = syscall(SYS_getdents64, fd, list, sizeof list)) > 0)
        for (long at = 0; at < n;) {
            const struct entry *e = (const struct entry *)(list + at);
            at += e->bytes;
            if (!strcmp(e->name, ".") || !strcmp(e->name, "..") ||
                (!marks && !strncmp(e->name, SUFFIX, sizeof SUFFIX - 1)))
                continue;
            if (remove_at(fd, e->name) == 0)
                gone++;
            else if (errno != ENOENT)
                failed = errno; /* not what a later entry leaves there */
        }
    if (failed)
        errno = failed;
    return n < 0 || failed ? -1 : gone;
}

/* Removes all entries of an open folder, marks only if `marks` is 1. Returns 0, or -1 with errno.
 */
static int empty(int fd, int marks)
{
    int gone = 1;
    /* The mark goes last, so that the rest can be removed later if this ends early. Repeats, since
     * removals during a pass may skip entries. */
    for (int last = 0; last <= marks && gone >= 0; last++)
        while ((gone = remove_entries(fd, last)) > 0)
            ;
    return gone;
}

static int remove_at(int at, const char *name)
{
    if (unlinkat(at, name, 0) == 0)
        return 0;
    if (errno != EISDIR && errno != EPERM) /* errno for a folder: EISDIR on Linux, EPERM by POSIX */
        return -1;
    int fd = AGAIN(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd < 0)
        return -1;
    int failed = empty(fd, 1), why = errno;
    close(fd);
    errno = why;
    return failed < 0 ? -1 : unlinkat(at, name, AT_REMOVEDIR);
}

int temp_remove(const char *path)
{
    return remove_at(AT_FDCWD, path);
}

/* ---- those of this process ------------------------------------------------------------------ */

/* A registered temporary. Entries are never freed, because a signal handler may be reading them;
 * they are reused. */
struct temp {
    struct temp *next;
    size_t cap;
    enum temp_end end;
    atomic_int alive;
    char path[];
};
static _Atomic(struct temp *) all;
static atomic_int ending; /* 1: the program is ending; no new temporaries may be registered */
static pid_t owner;       /* process that registered them; a forked process removes nothing */

static void remove_all(enum temp_end most)
{
    if (getpid() != owner)
        return;
    atomic_store(&ending, 1);
    for (struct temp *t = atomic_load(&all); t; t = t->next)
        for (int tries = 100; atomic_load(&t->alive) && t->end <= most && tries > 0; tries--)
            /* it fails as long as another thread creates files inside */
            if (temp_remove(t->path) == 0 || errno == ENOENT)
                break;
}

void temp_remove_all(void)
{
    remove_all(TEMP_STAYS_ON_SIGNALS);
}

static int is_inside(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return !strncmp(path, folder, n) && path[n] == '/';
}

/* Returns an unused entry with enough room, or NULL. */
static struct temp *find_free(size_t bytes)
{
    struct temp *t = atomic_load(&all);
    while (t && (atomic_load(&t->alive) || t->cap < bytes))
        t = t->next;
    return t;
}

static void add(const char *path, enum temp_end end)
{
    size_t bytes = strlen(path) + 1;
    for (struct temp *t = atomic_load(&all); t; t = t->next)
        if (atomic_load(&t->alive) && is_inside(path, t->path))
            return;
    struct temp *t = find_free(bytes), *made = NULL;
    if (!t) {
        size_t cap = (bytes + 127) / 128 * 128;
        t = made = mem_zalloc(1, sizeof *t + cap);
        t->cap = cap;
    }
    memcpy(t->path, path, bytes);
    t->end = end;
    atomic_store(&t->alive, 1);
    if (made) {
        made->next = atomic_load(&all);
        atomic_store(&all, made);
    }
}

/* Registers a temporary file or folder, before it is created: its random name is nobody else's.
 * What is inside a registered folder is removed with it. */
static void register_path(const char *path, enum temp_end end)
{
    while (atomic_load(&ending))
        pause(); /* another thread is ending the program */
    pthread_mutex_lock(&lock);
    if (!owner) {
        owner = getpid();
        atexit(temp_remove_all);
        at_quick_exit(temp_remove_all);
    }
    add(path, end);
    pthread_mutex_unlock(&lock);
}

void temp_forget(const char *path)
{
    pthread_mutex_lock(&lock);
    for (struct temp *t = atomic_load(&all); t; t = t->next)
        if (atomic_load(&t->alive) && !strcmp(t->path, path))
            atomic_store(&t->alive, 0);
    pthread_mutex_unlock(&lock);
}

/* Removes temporaries and raises the signal again. Its default action is restored, and takes place
 * when the handler returns. The kernel spares the first process of a container, so that exits. */
static void on_signal(int number)
{
    int why = errno;
    remove_all(TEMP_GOES);
    if (getpid() == 1)
        _exit(128 + number);
    errno = why;
    raise(number);
}

void temp_catch_signals(void)
{
    static const int ends[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU,
                                SIGABRT, SIGSEGV, SIGBUS,  SIGILL,  SIGFPE };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND }, old;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!sigaction(ends[i], NULL, &old) && old.sa_handler == SIG_DFL)
            /* not for signals that are ignored (nohup) or have another handler */
            sigaction(ends[i], &action, NULL);
    signal(SIGXFSZ, SIG_IGN);
}

/* ---- names and locks ------------------------------------------------------------------------- */

/* A temporary name ends in SUFFIX and RANDOM characters of `digits`. */
static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
enum { RANDOM = 10, ENDING = sizeof SUFFIX - 1 + RANDOM };

size_t temp_base(const char *name)
{
    const size_t n = strlen(name);
    if (n <= ENDING || strncmp(name + n - ENDING, SUFFIX, sizeof SUFFIX - 1) ||
        strspn(name + n - RANDOM, digits) != RANDOM)
        return 0;
    return n - ENDING;
}

void temp_stem(struct buf *out, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t n = strlen(name), most = NAME_MAX - ENDING, hash = 1 + 16;
    buf_set(out, path, (size_t)(name - path) + n);
    if (n <= most || n > NAME_MAX)
        return;
    buf_truncate(out, (size_t)(name - path) + utf8_cut(name, n, most - hash));
    buf_addf(out, "~%016llx", (unsigned long long)hash_bytes(name, n));
}

/* Sets *out to a new temporary name of `path`. Returns 0, or -1 with errno. */
static int make_name(struct buf *out, const char *path)
{
    unsigned char bytes[RANDOM];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return -1;
    temp_stem(out, path);
    buf_adds(out, SUFFIX);
    for (int i = 0; i < RANDOM; i++)
        buf_addc(out, digits[bytes[i] % 32]);
    return 0;
}

/* Returns the path of the file that marks the folder `path`, in a new buffer. */
static struct buf mark_of(const char *path, const char *kind)
{
    return buf_format("%s/%s%s", path, SUFFIX, kind);
}

/* Locks a new temporary. Returns 0, or -1 with errno; EEXIST: another process was looking at it and
 * has perhaps removed it. A file system on which nothing can be locked, such as NFS without a
 * server of locks, is no error, since nobody removes anything there. */
static int hold(int fd)
{
    struct stat st = { 0 };
    const int taken = AGAIN(flock(fd, LOCK_EX | LOCK_NB)) < 0 && errno == EWOULDBLOCK;
    if (!taken && fstat(fd, &st) < 0)
        return -1;
    errno = EEXIST;
    return st.st_nlink ? 0 : -1;
}

/* Each makes one temporary at `path` and locks it. Returns its descriptor, or -1 with errno. */
static int make_file(const char *path)
{
    int fd = AGAIN(open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (fd < 0 || hold(fd) == 0)
        return fd;
    int why = errno;
    close(fd);
    unlink(path);
    errno = why;
    return -1;
}

static int make_folder(const char *path, const char *kind)
{
    SCOPED(buf) mark = mark_of(path, kind);
    if (mkdir(path, 0777) < 0)
        return -1;
    const int fd = make_file(mark.data), why = errno;
    if (fd >= 0)
        return fd;
    rmdir(path);
    errno = why == ENOENT ? EEXIST : why; /* another process removed it while it was empty */
    return -1;
}

/* Makes a file, or with a `kind` a folder, under a temporary name. */
static int make(struct buf *name, const char *path, const char *kind, enum temp_end end)
{
    int fd = -1;
    for (int tries = 100; fd < 0 && tries > 0; tries--) {
        if (make_name(name, path) < 0)
            break;
        register_path(name->data, end);
        fd = kind ? make_folder(name->data, kind) : make_file(name->data);
        int why = errno;
        if (fd < 0)
            temp_forget(name->data);
        errno = why;
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd >= 0 ? fd
                   : err_set("cannot %s '%s': %s", kind ? "make folder" : "create", path,
                             strerror(errno));
}

/* ---- those of processes that ended ---------------------------------------------------------- */

/* Opens the temporary file or, with a `kind`, the mark of the folder. Returns its descriptor, or -1
 * with errno; errno 0: it is no such temporary. Removes an empty folder without a mark: its process
 * was killed before it made the mark, or after it removed the mark. */
static int open_old(const char *path, const char *kind)
{
    struct stat st, of_mark;
    errno = 0;
    if (!temp_base(path) || lstat(path, &st) < 0 ||
        (kind ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode) || st.st_nlink != 1))
        return -1;
    if (!kind)
        return AGAIN(open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    SCOPED(buf) mark = mark_of(path, kind);
    const int own = st.st_uid == geteuid();
    if (lstat(mark.data, &of_mark) == 0 && S_ISREG(of_mark.st_mode) && of_mark.st_uid == st.st_uid)
        return AGAIN(open(mark.data, (own ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC));
    const int why = errno == ENOENT ? 0 : errno;
    if (errno == ENOENT && own)
        rmdir(path);
    errno = why;
    return -1;
}

int temp_take(const char *path, const char *kind)
{
    struct stat st;
    int fd = open_old(path, kind);
    if (fd < 0)
        return -1;
    int failed = fstat(fd, &st) < 0, own = !failed && st.st_uid == geteuid();
    /* Over NFS an exclusive lock needs a descriptor that can write. Another user's file is opened
     * for reading, so it gets a shared lock. */
    failed |= AGAIN(flock(fd, (own ? LOCK_EX : LOCK_SH) | LOCK_NB)) < 0;
    int why = errno;
    if (!failed && own)
        return fd;
    close(fd);
    errno = failed ? why : 0;
    return -1;
}

void temp_clear(const char *path, const char *kind)
{
    int fd = temp_take(path, kind);
    if (fd >= 0)
        temp_drop(path, fd);
}

/* Cache of the temporary names in the folder last written to; a run writes to few folders. */
static struct {
    char *folder, **names;
    size_t count, cap;
} seen;

static void look_into(const char *folder)
{
    for (size_t i = 0; i < seen.count; i++)
        free(seen.names[i]);
    free(seen.folder);
    seen.folder = mem_strdup(folder);
    seen.count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (temp_base(e->d_name)) {
            mem_next(seen.names, seen.count, seen.cap) = mem_strdup(e->d_name);
        }
    if (d)
        closedir(d);
}

/* Finds the temporaries of `path` that ended processes left: the files, or the folders of the
 * `kind`. Removes them if `remove` is 1. Returns their number. */
static int sweep(const char *path, const char *kind, int remove)
{
    int found = 0;
    SCOPED(buf) stem = BUF_INIT;
    temp_stem(&stem, path);
    const char *slash = strrchr(stem.data, '/'), *base = slash ? slash + 1 : stem.data;
    SCOPED(buf) folder = buf_format("%.*s", (int)(base - stem.data), stem.data);
    if (!folder.len)
        buf_adds(&folder, "./");
    pthread_mutex_lock(&looking);
    if (!seen.folder || strcmp(seen.folder, folder.data))
        look_into(folder.data);
    size_t n = strlen(base);
    for (size_t i = 0; i < seen.count; i++) {
        if (temp_base(seen.names[i]) != n || strncmp(seen.names[i], base, n))
            continue;
        SCOPED(buf) file = buf_format("%s%s", folder.data, seen.names[i]);
        const int fd = temp_take(file.data, kind);
        found += fd >= 0;
        if (fd >= 0 && remove)
            temp_drop(file.data, fd);
        else if (fd >= 0)
            close(fd);
    }
    pthread_mutex_unlock(&looking);
    return found;
}

int temp_left(const char *path)
{
    return sweep(path, NULL, 0) > 0;
}

/* ---- use ------------------------------------------------------------------------------------- */

int temp_create(struct buf *name, const char *path)
{
    sweep(path, NULL, 1);
    return make(name, path, NULL, TEMP_GOES);
}

int temp_mkdir(struct buf *name, const char *path, const char *kind, enum temp_end end)
{
    sweep(path, kind, 1);
    return make(name, path, kind, end);
}

int temp_drop(const char *name, int fd)
{
    const int dir = AGAIN(open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    int result = dir >= 0 ? empty(dir, 0) : 0, why = errno;
    /* the mark goes while it is locked, so that a run that waits for the lock sees that */
    if (dir >= 0 && !result)
        remove_entries(dir, 1);
    if (dir >= 0)
        close(dir);
    close(fd); /* NFS keeps an open file in the folder, by another name */
    if (!result && temp_remove(name) < 0 && (why = errno) != ENOENT)
        result = -1;
    if (result < 0)
        err_set("cannot remove '%s': %s", name, strerror(why));
    temp_forget(name);
    if (result < 0)
        register_path(name, TEMP_STAYS_ON_SIGNALS); /* it is tried again at exit */
    return result;
}

void temp_keep(const char *path)
{
    register_path(path, TEMP_STAYS);
}
