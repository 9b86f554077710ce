#include "common/files/output_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/again.h"
#include "common/base/order.h"
#include "common/files/temp.h"

/* The mark of the temporary folders, and what is in them: the new folder, and the old one while
 * replacing it takes two steps. */
static const char KIND[] = "tree", NEW[] = "new", OLD[] = "old";

static char *without_slashes(const char *dir)
{
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    return mem_strndup(dir, n);
}

int output_folder_look(struct file_names *names, const char *dir)
{
    SCOPED_MEM char *plain = without_slashes(dir); /* a file is not found if a slash follows */
    const int kind = file_look(plain);
    *names = (struct file_names){ 0 };
    if (kind <= 0)
        return kind;
    return kind == FILE_FOLDER ? file_list_all(names, dir)
                               : err_set("cannot write to '%s': it is not a folder", dir);
}

/* Moves the old folder back to `dir` from the folder `left` of an ended run. Returns 1, 0 if it is
 * not there, or -1 with an error. */
static int bring_back(const char *left, const char *dir)
{
    SCOPED(buf) old = file_path(left, OLD);
    int fd = temp_take(left, KIND);
    if (fd < 0)
        return 0;
    int result = file_look(old.data);
    if (result > 0)
        result = file_rename(old.data, dir) < 0 ? -1 : 1;
    close(fd);
    return result;
}

int output_folder_recover(const char *path)
{
    SCOPED_MEM char *dir = without_slashes(path);
    SCOPED(file_names) left = { 0 };
    const int there = file_look(dir);
    int result = there < 0 ? -1 : there ? 0 : file_list_left(&left, dir);
    for (size_t i = 0; i < left.count && !result; i++)
        result = bring_back(left.names[i], dir);
    return result;
}

int output_folder_open(struct output_folder *f, const char *dir)
{
    SCOPED(buf) temp = BUF_INIT;
    SCOPED_MEM char *plain = without_slashes(dir);
    *f = (struct output_folder){ .dir = file_resolve(plain) };
    if (!f->dir || output_folder_look(&f->was, f->dir) < 0)
        return -1;
    SCOPED(buf) above = file_beside(f->dir, "");
    int result = above.len ? file_mkdirs_count(above.data, &f->made) : 0;
    struct stat own, up; /* no folder can be renamed over a mount point or over "." */
    if (!result && stat(f->dir, &own) == 0 && stat(above.len ? above.data : ".", &up) == 0 &&
        (own.st_dev != up.st_dev || own.st_ino == up.st_ino))
        return err_set("'%s' is %s, which no folder can replace: name a folder in it", f->dir,
                       own.st_dev != up.st_dev ? "a mount point" : "the folder '.'");
    if (!result)
        result = f->lock = temp_mkdir(&temp, f->dir, KIND, TEMP_GOES);
    if (result >= 0) {
        struct buf path = file_path(temp.data, NEW);
        f->temp = buf_detach(&temp);
        f->path = buf_detach(&path);
        result = file_mkdirs(f->path);
    }
    return result < 0 ? -1 : 0;
}

/* Replaces the old folder on a file system that cannot swap two names: moves the old folder into
 * the temporary one, then renames the new folder. If the process ends between these steps, or the
 * second fails and the old folder cannot be moved back, output_folder_recover moves it back in the
 * next run. */
static int replace_in_two_steps(struct output_folder *f)
{
    SCOPED(buf) old = file_path(f->temp, OLD);
    temp_forget(f->temp);
    if (file_rename(f->dir, old.data) < 0)
        return -1;
    if (file_rename(f->path, f->dir) == 0)
        return 0;
    SCOPED(buf) why = buf_format("%s", err_get());
    if (file_rename(old.data, f->dir) < 0) {
        buf_addf(&why, "; the next run moves '%s' back", old.data);
        close(f->lock);
        free(f->temp); /* so that it stays */
        f->temp = NULL;
    }
    return err_set("%s", why.data);
}

/* Checks that nothing came into the old folder since the run began: it would be removed with it. */
static int check_old(const struct output_folder *f)
{
    SCOPED(file_names) now = { 0 };
    char **was = f->was.names;
    int result = output_folder_look(&now, f->dir);
    for (size_t i = 0; i < now.count && !result; i++)
        if (!was || !bsearch(&now.names[i], was, f->was.count, sizeof *was, order_texts))
            result = err_set("cannot replace '%s': '%s' came into it during the run", f->dir,
                             now.names[i]);
    return result;
}

/* Renames the folder to its final name. The old one, if any, is in the temporary folder then. */
static int publish(struct output_folder *f)
{
    /* by a descriptor as old as the run, which also learns of writes that failed hours ago */
    if (AGAIN(syncfs(f->lock)) < 0)
        return err_set("cannot sync '%s': %s", f->temp, strerror(errno));
    /* an empty one goes: a container cannot swap one that came with its image */
    const int there = check_old(f) < 0 || file_rmdir(f->dir) < 0 ? -1 : file_look(f->dir);
    if (there < 0)
        return -1;
    int swapped = there ? file_swap(f->path, f->dir) : 0, result = swapped < 0 ? -1 : 0;
    if (!swapped)
        result = there ? replace_in_two_steps(f) : file_rename(f->path, f->dir);
    return result < 0 ? -1 : file_sync_dir(f->dir);
}

/* Frees everything, after removing the temporary folder. Returns 0, or -1 with an error. */
static int release(struct output_folder *f)
{
    int result = f->temp ? temp_drop(f->temp, f->lock) : 0;
    free(f->dir);
    free(f->temp);
    free(f->path);
    file_names_release(&f->was);
    *f = (struct output_folder){ 0 };
    return result;
}

int output_folder_close(struct output_folder *f)
{
    if (!publish(f))
        return release(f);
    output_folder_abandon(f);
    return -1;
}

/* Keeps the caller's error during the cleanup. */
void output_folder_abandon(struct output_folder *f)
{
    struct err why = err_keep();
    const int made = f->made;
    SCOPED(buf) above = file_beside(f->dir ? f->dir : "", "");
    release(f);
    if (made)
        file_rmdirs(above.data, made);
    err_restore(&why);
}

int output_folder_lock(const char *folder, int *lock)
{
    *lock = AGAIN(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (*lock < 0)
        return errno == ENOENT ? 0
                               : err_set("cannot open folder '%s': %s", folder, strerror(errno));
    if (AGAIN(flock(*lock, LOCK_EX | LOCK_NB)) < 0 && errno == EWOULDBLOCK)
        return err_set("another training is running in '%s'", folder);
    return 0;
}
