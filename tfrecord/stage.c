#include "tfrecord/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/file.h"
#include "common/mem.h"
#include "tfrecord/index.h"
#include "tfrecord/manifest.h"

/* ---- single files ------------------------------------------------------------------------- */

static int remove_file(const char *path)
{
    if (unlink(path) < 0 && errno != ENOENT)
        return err_set("cannot remove '%s': %s", path, strerror(errno));
    return 0;
}

static int move_file(const char *from, const char *to)
{
    if (rename(from, to) < 0)
        return err_set("cannot rename '%s' to '%s': %s", from, to, strerror(errno));
    return 0;
}

/* Does one thing to a listed file and to the index beside it, if it has one. */
static int each_file(const struct manifest *m, const char *from, const char *to,
                     int (*act)(const char *from, const char *to))
{
    struct buf a = BUF_INIT, b = BUF_INIT, ai = BUF_INIT, bi = BUF_INIT;
    int result = 0;
    for (size_t i = 0; i < m->count && !result; i++) {
        file_join(&a, from, m->shards[i].name);
        file_join(&b, to, m->shards[i].name);
        index_path(&ai, a.data);
        index_path(&bi, b.data);
        if (file_exists(ai.data))
            result = act(ai.data, bi.data);
        if (!result)
            result = act(a.data, b.data);
    }
    buf_release(&a);
    buf_release(&b);
    buf_release(&ai);
    buf_release(&bi);
    return result;
}

static int act_remove(const char *path, const char *unused)
{
    (void)unused;
    return remove_file(path);
}

static int act_move(const char *from, const char *to)
{
    return move_file(from, to);
}

int stage_forget(const char *dir, const char *manifest)
{
    struct buf path = BUF_INIT;
    struct manifest m;
    file_join(&path, dir, manifest);
    int there = manifest_load(&m, path.data), result = there < 0 ? -1 : 0;
    if (there > 0) {
        result = remove_file(path.data); /* first: what is left is not a finished data set */
        if (!result)
            result = each_file(&m, dir, dir, act_remove);
        manifest_release(&m);
    }
    buf_release(&path);
    return result;
}

/* ---- runs that died ----------------------------------------------------------------------- */

/* Removes from `dir` what the dead run's manifest lists: its files, moved without it. Its
 * validation part was moved before them, with its manifest. */
static int forget_moved(const char *dir, const char *work, const char *manifest)
{
    struct buf path = BUF_INIT;
    struct manifest m;
    file_join(&path, work, manifest);
    int there = manifest_load(&m, path.data), result = 0;
    if (there > 0) {
        result = each_file(&m, dir, dir, act_remove);
        file_join(&path, dir, "validation");
        if (!result && kv_get(&m.kv, "validation"))
            result = stage_forget(path.data, "manifest");
        manifest_release(&m);
    }
    buf_release(&path);
    return result;
}

static int clear_dead(const char *dir, const char *work)
{
    int fd = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return 0; /* gone by now, or no folder of ours */
    int busy = flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    int result = busy ? err_set("'%s' is at work: another tfwrite writes to '%s'", work, dir) : 0;
    struct buf a = BUF_INIT, b = BUF_INIT;
    struct file_names manifests = { 0 };
    if (!result)
        result = file_list(&manifests, work, "manifest");
    for (size_t i = 0; i < manifests.count && !result; i++)
        result = forget_moved(dir, work, manifests.names[i]);
    file_join(&a, dir, "validation");
    file_join(&b, work, "validation");
    if (!result)
        result = forget_moved(a.data, b.data, "manifest");
    if (!result)
        result = file_remove_tree(work);
    file_names_free(&manifests);
    buf_release(&a);
    buf_release(&b);
    close(fd);
    return result;
}

static int clear_all_dead(const char *dir, const char *prefix)
{
    struct file_names all;
    struct buf work = BUF_INIT;
    int result = file_list(&all, dir, "");
    for (size_t i = 0; i < all.count && !result; i++) {
        if (strncmp(all.names[i], prefix, strlen(prefix)))
            continue;
        file_join(&work, dir, all.names[i]);
        result = clear_dead(dir, work.data);
    }
    buf_release(&work);
    file_names_free(&all);
    return result;
}

/* ---- life cycle --------------------------------------------------------------------------- */

static int open_work(struct stage *s, const char *name)
{
    struct buf prefix = BUF_INIT, path = BUF_INIT;
    buf_addf(&prefix, "%s.tmp-", name);
    int result = clear_all_dead(s->dir, prefix.data);
    buf_addf(&prefix, "%ld", (long)getpid());
    file_join(&path, s->dir, prefix.data);
    if (!result) {
        s->work = buf_detach(&path);
        if (mkdir(s->work, 0777) < 0 ||
            (s->lock = open(s->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
            result = err_set("cannot make folder '%s': %s", s->work, strerror(errno));
        else
            flock(s->lock, LOCK_EX | LOCK_NB); /* where locks are not to be had: without */
    }
    buf_release(&prefix);
    buf_release(&path);
    return result;
}

int stage_open(struct stage *s, const char *dir, const char *name)
{
    *s = (struct stage){ .dir = mem_strdup(dir), .lock = -1, .made = !file_exists(dir) };
    if (file_mkdirs(dir) < 0 || open_work(s, name) < 0) {
        stage_close(s, 1);
        return -1;
    }
    return 0;
}

int stage_publish(struct stage *s, const char *folder, const char *manifest)
{
    struct buf from = BUF_INIT, to = BUF_INIT, a = BUF_INIT, b = BUF_INIT;
    struct manifest m;
    file_join(&from, s->work, folder);
    file_join(&to, s->dir, folder);
    file_join(&a, from.data, manifest);
    file_join(&b, to.data, manifest);
    int result = manifest_load(&m, a.data) > 0 ? 0 : -1, made = !file_exists(to.data);
    if (!result) {
        result = file_mkdirs(to.data);
        if (!result)
            result = stage_forget(to.data, manifest);
        if (!result)
            result = each_file(&m, from.data, to.data, act_move);
        if (!result)
            result = move_file(a.data, b.data);
        if (!result)
            result = file_sync_dir(b.data);
        if (result < 0) {
            char *why = mem_strdup(err_get());
            remove_file(b.data);
            each_file(&m, to.data, to.data, act_remove);
            if (made)
                rmdir(to.data);
            err_set("%s", why);
            free(why);
        }
        manifest_release(&m);
    }
    buf_release(&from);
    buf_release(&to);
    buf_release(&a);
    buf_release(&b);
    return result;
}

int stage_check_finished(const char *dir)
{
    static const char work[] = STAGE_SHARDS ".tmp-";
    struct file_names all;
    int result = file_list(&all, dir, "");
    for (size_t i = 0; i < all.count && !result; i++)
        if (!strncmp(all.names[i], work, sizeof work - 1))
            result = err_set("%s: unfinished: a tfwrite runs there or was killed", dir);
    file_names_free(&all);
    return result;
}

void stage_close(struct stage *s, int failed)
{
    char *why = mem_strdup(err_get());
    if (s->work)
        file_remove_tree(s->work);
    if (s->lock >= 0)
        close(s->lock);
    if (failed && s->made && s->dir)
        rmdir(s->dir);
    if (failed)
        err_set("%s", why);
    free(why);
    free(s->dir);
    free(s->work);
    *s = (struct stage){ .lock = -1 };
}
