#include "tfrecord/publish/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/files/file.h"
#include "common/files/temp.h"
#include "tfrecord/formats/index.h"
#include "tfrecord/formats/manifest.h"

/* ---- single files ------------------------------------------------------------------------- */

static const char KIND[] = "shards"; /* the mark of work folders */

/* The paths of a listed file, and of the index beside it, in two folders. */
struct places {
    struct buf from, to, index_from, index_to;
};

static struct places *places_new(const struct manifest *m, const char *from, const char *to)
{
    struct places *all = mem_zalloc(m->count + 1, sizeof *all);
    for (size_t i = 0; i < m->count; i++) {
        const struct buf a = file_path(from, m->shards[i].name),
                         b = file_path(to, m->shards[i].name);
        all[i] = (struct places){ a, b, index_path(a.data), index_path(b.data) };
    }
    return all;
}

static void places_free(struct places *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_release(&all[i].from);
        buf_release(&all[i].to);
        buf_release(&all[i].index_from);
        buf_release(&all[i].index_to);
    }
    free(all);
}

/* Calls `act` for each listed file and for the index beside it, if it has one. Makes all paths
 * first, so that a run with too little memory ends before it has moved a file. */
static int each_file(const struct manifest *m, const char *from, const char *to,
                     int (*act)(const char *from, const char *to))
{
    struct places *all = places_new(m, from, to);
    int result = 0;
    for (size_t i = 0; i < m->count && !result; i++) {
        result = file_look(all[i].index_from.data);
        if (result > 0)
            result = act(all[i].index_from.data, all[i].index_to.data);
        if (!result)
            result = act(all[i].from.data, all[i].to.data);
    }
    places_free(all, m->count);
    return result;
}

static int act_remove(const char *path, const char *)
{
    return file_remove(path);
}

/* Removes the file at `path` if it was moved there from the path `from`, which then has no file. */
static int act_forget(const char *path, const char *from)
{
    const int there = file_look(from);
    return there < 0 ? -1 : there ? 0 : file_remove(path);
}

static const char OLDER[] =
    "older-"; /* begins the name of an older set's manifest in a work folder */

/* First moves the manifest to the work folder, so that the other files are no finished data set.
 * The manifest stays there until these files are removed: if this run dies before, the next one
 * removes them. s->torn is 1 meanwhile. */
int stage_forget(struct stage *s, const char *folder, const char *manifest)
{
    SCOPED(buf) dir = file_path(s->dir, folder), work = file_path(s->work, folder),
                path = file_path(dir.data, manifest), kept = file_path(work.data, OLDER);
    SCOPED(manifest) m = { 0 };
    buf_adds(&kept, manifest);
    const int there = manifest_load(&m, path.data);
    if (there <= 0)
        return there;
    temp_forget(s->work); /* it is not removed if memory runs out */
    if (file_mkdirs(work.data) < 0 || file_rename(path.data, kept.data) < 0)
        return -1;
    s->torn = 1;
    if (file_sync_dir(kept.data) < 0 || file_sync_dir(path.data) < 0 ||
        each_file(&m, dir.data, dir.data, act_remove) < 0 || file_sync_dir(path.data) < 0 ||
        file_remove(kept.data) < 0)
        return -1;
    s->torn = 0;
    return 0;
}

/* ---- runs that died ----------------------------------------------------------------------- */

/* Cleans `dir` after a dead run. The manifest in the work folder lists what to remove: files that
 * the run moved to `dir` or, for an older set, was removing. Also removes the new set's validation
 * part, which was moved first. Does nothing if `dir` has a manifest: the run had moved nothing or
 * everything. Returns 0, or -1 with an error. */
static int forget_moved(const char *dir, const char *work, const char *manifest)
{
    const size_t older = strncmp(manifest, OLDER, sizeof OLDER - 1) ? 0 : sizeof OLDER - 1;
    SCOPED(manifest) m = { 0 };
    SCOPED(buf) own = file_path(dir, manifest + older), moved = file_path(work, manifest);
    const int published = file_look(own.data);
    const int there = published < 0 ? -1 : published ? 0 : manifest_load(&m, moved.data);
    if (there <= 0)
        return there;
    if (each_file(&m, dir, work, older ? act_remove : act_forget) < 0)
        return -1;
    struct stage ended = { .dir = (char *)dir, .work = (char *)work };
    return older || !kv_get(&m.kv, "validation") ? 0
                                                 : stage_forget(&ended, "validation", "manifest");
}

/* Calls forget_moved for all manifests in the work folder of an ended run. */
static int forget_all(const char *dir, const char *work)
{
    static const char *const folders[] = { "", "validation" };
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        SCOPED(file_names) manifests = { 0 };
        SCOPED(buf) to = file_path(dir, folders[i]), from = file_path(work, folders[i]);
        if (file_list_there(&manifests, from.data, "manifest") < 0)
            return -1;
        for (size_t j = 0; j < manifests.count; j++)
            if (forget_moved(to.data, from.data, manifests.names[j]) < 0)
                return -1;
    }
    return 0;
}

/* Takes over the work folder of an ended run. Sets *lock to its descriptor. Returns 1; 0 if `work`
 * is no such folder; or -1 with an error, also if its run has not ended. */
static int take(const struct stage *s, const char *work, int *lock)
{
    *lock = temp_take(work, KIND);
    if (*lock >= 0)
        return 1;
    if (errno == EWOULDBLOCK)
        return err_set("'%s' is in use: another tfwrite writes to '%s'", work, s->dir);
    return errno == 0 || errno == ENOENT
               ? 0
               : err_set("cannot open folder '%s': %s", work, strerror(errno));
}

/* Removes what the run of a work folder moved into `dir` or had begun to remove there, and then the
 * folder. If that fails, the folder stays, so that the next run can do it. Closes the lock. */
static int clear(const char *dir, const char *work, int lock)
{
    if (forget_all(dir, work) == 0)
        return temp_drop(work, lock);
    temp_forget(work);
    close(lock);
    return -1;
}

/* ---- going on ----------------------------------------------------------------------------- */

/* Returns 1 if the folder `dir` has a shard, finished or not, 0 if not, or -1 with an error. */
static int has_shards(const char *dir)
{
    SCOPED(file_names) all = { 0 };
    int there = 0;
    if (file_list_there(&all, dir, "") < 0)
        return -1;
    for (size_t i = 0; i < all.count; i++)
        there |= strstr(all.names[i], ".tfrecord") != NULL;
    return there;
}

/* Returns 1 if an ended run left something to continue in its work folder: a begun part (validation
 * is the first one), or a manifest, which is moved last. Returns 0 if not, or -1 with an error. */
static int is_begun(const char *work)
{
    SCOPED(buf) path = file_path(work, "manifest"), part = file_path(work, "validation");
    int there = file_look(path.data);
    if (!there)
        there = has_shards(work);
    return there ? there : has_shards(part.data);
}

/* Moves the files that the manifest lists from folder `from` back to folder `to`, unless they are
 * there. Removes their index files, which are made again. Returns 0, or -1 with an error. */
static int bring_back_files(const struct manifest *m, const char *from, const char *to)
{
    if (file_mkdirs(to) < 0)
        return -1;
    struct places *all = places_new(m, from, to);
    int result = 0;
    for (size_t i = 0; i < m->count && !result; i++) {
        const struct places *p = &all[i];
        const int back = file_look(p->to.data), there = back < 0 ? -1 : file_look(p->from.data);
        if (act_forget(p->index_from.data, p->index_to.data) < 0 || /* moved before its records */
            there < 0 || (!back && there && file_rename(p->from.data, p->to.data) < 0))
            result = -1;
    }
    places_free(all, m->count);
    return result;
}

/* Moves the published files of the validation part back to the work folder, and removes the part's
 * manifest, which is written anew. If publishing the part had not ended, its manifest is still in
 * the work folder, else in `dir`. Returns 0, or -1 with an error. */
static int bring_back_validation(const char *dir, const char *work)
{
    SCOPED(buf) from = file_path(dir, "validation"), to = file_path(work, "validation"),
                path = file_path(to.data, "manifest");
    SCOPED(manifest) m = { 0 };
    int there = manifest_load(&m, path.data);
    if (!there) {
        buf_release(&path);
        path = file_path(from.data, "manifest");
        there = manifest_load(&m, path.data);
    }
    if (there <= 0)
        return there;
    return bring_back_files(&m, from.data, to.data) < 0 ? -1 : file_remove(path.data);
}

/* Moves the published files of the whole set, with its validation part, back to the work folder,
 * and removes the manifest there. If `dir` has a manifest, nothing was moved yet. Without a
 * manifest in the work folder, the set was not complete. Returns 0, or -1 with an error. */
static int bring_back(const char *dir, const char *work)
{
    SCOPED(buf) own = file_path(dir, "manifest"), path = file_path(work, "manifest");
    SCOPED(manifest) m = { 0 };
    const int published = file_look(own.data);
    const int there = published < 0 ? -1 : manifest_load(&m, path.data);
    if (there <= 0)
        return there;
    if (!published && ((kv_get(&m.kv, "validation") && bring_back_validation(dir, work) < 0) ||
                       bring_back_files(&m, dir, work) < 0))
        return -1;
    return file_remove(path.data);
}

/* Renames shards with temporary names to their own names, and removes other temporary files. */
static int settle(const char *work)
{
    SCOPED(file_names) all = { 0 };
    int result = file_list_there(&all, work, "");
    for (size_t i = 0; i < all.count && !result; i++) {
        const size_t base = temp_base(all.names[i]);
        if (!base)
            continue;
        SCOPED(buf) from = file_path(work, all.names[i]), to = file_path(work, all.names[i]);
        buf_truncate(&to, to.len - strlen(all.names[i] + base));
        const int kind = file_look(to.data);
        result = kind < 0                                        ? -1
                 : file_ends_with(to.data, ".tfrecord") && !kind ? file_rename(from.data, to.data)
                                                                 : file_remove(from.data);
    }
    return result;
}

/* Makes the folder `old` of an ended run this run's work folder. Returns 1, 0 if that run had not
 * begun, or -1 with an error. */
static int take_up(struct stage *s, const char *old)
{
    int lock, taken = take(s, old, &lock), begun = taken > 0 ? is_begun(old) : taken;
    if (begun <= 0) {
        if (taken > 0)
            close(lock);
        return begun;
    }
    s->lock = lock;
    s->work = mem_strdup(old);
    temp_keep(s->work);
    SCOPED(buf) validation = file_path(s->work, "validation");
    return bring_back(s->dir, s->work) < 0 || forget_all(s->dir, s->work) < 0 ||
                   settle(s->work) < 0 || settle(validation.data) < 0
               ? -1
               : 1;
}

int stage_plan(struct stage *s, const char *folder, const struct kv *plan)
{
    SCOPED(buf) dir = file_path(s->work, folder), path = file_path(dir.data, "plan"),
                text = BUF_INIT;
    SCOPED(kv) old = KV_INIT;
    const int there = file_look(path.data);
    if (there < 0)
        return -1;
    if (!there) {
        kv_print(plan, &text);
        return file_write(path.data, text.data, text.len);
    }
    if (file_read(path.data, &text) < 0 || kv_parse(&old, text.data, text.len) < 0)
        return -1;
    const char *key = kv_difference(plan, &old);
    const char *is = key ? kv_get(plan, key) : NULL, *was = key ? kv_get(&old, key) : NULL;
    return key ? err_set("cannot resume in '%s': %s is %s, but was %s in the interrupted run "
                         "(run without --resume to start over)",
                         s->dir, key, is ? is : "not given", was ? was : "not given")
               : 0;
}

/* ---- life cycle --------------------------------------------------------------------------- */

/* Takes up a work folder of an ended run, whose name is `path` and a temporary ending, if s->resume
 * is set and the run had begun. Removes the others. Returns 0, or -1 with an error. */
static int settle_old(struct stage *s, const char *path)
{
    SCOPED(file_names) left = { 0 };
    int lock, result = file_list_left(&left, path);
    for (size_t i = 0; i < left.count && s->resume && !s->work && result >= 0; i++)
        result = take_up(s, left.names[i]);
    for (size_t i = 0; i < left.count && result >= 0; i++)
        if ((!s->work || strcmp(left.names[i], s->work) != 0) &&
            (result = take(s, left.names[i], &lock)) > 0)
            result = clear(s->dir, left.names[i], lock);
    return result < 0 ? -1 : 0;
}

static int open_work(struct stage *s, const char *name)
{
    SCOPED(buf) path = file_path(s->dir, name), work = BUF_INIT;
    const enum temp_end end = s->resume ? TEMP_STAYS : TEMP_STAYS_ON_SIGNALS;
    int result = settle_old(s, path.data);
    if (!result && !s->work && (result = s->lock = temp_mkdir(&work, path.data, KIND, end)) >= 0) {
        s->work = buf_detach(&work);
        result = settle_old(s, path.data); /* another run may have begun at the same time */
    }
    return result;
}

int stage_open(struct stage *s, const char *dir, const char *name, int resume)
{
    if (!strcmp(dir, "-"))
        return err_usage("--output -: the files need a folder, not standard output");
    *s = (struct stage){ .dir = mem_strdup(dir), .lock = -1, .resume = resume };
    if (file_mkdirs_count(dir, &s->made) < 0 || open_work(s, name) < 0) {
        stage_close(s, 1);
        return -1;
    }
    return 0;
}

int stage_publish(struct stage *s, const char *folder, const char *manifest)
{
    SCOPED(buf) from = file_path(s->work, folder), to = file_path(s->dir, folder),
                a = file_path(from.data, manifest), b = file_path(to.data, manifest);
    SCOPED(manifest) m = { 0 };
    const int there = file_look(to.data);
    if (there < 0 || manifest_load(&m, a.data) <= 0)
        return -1;
    if (file_mkdirs(to.data) == 0 && stage_forget(s, folder, manifest) == 0 &&
        /* first, what the next run needs if this one is cut off */
        file_sync_dir(a.data) == 0 && file_sync_dir(s->work) == 0 &&
        each_file(&m, from.data, to.data, file_rename) == 0 &&
        /* the manifest appears when its files are on the disk */
        file_sync_dir(b.data) == 0 && file_rename(a.data, b.data) == 0 &&
        file_sync_dir(b.data) == 0)
        return 0;
    struct err why = err_keep();
    file_remove(b.data);
    each_file(&m, to.data, from.data, act_forget);
    if (!there)
        file_rmdirs(to.data, 1);
    return err_restore(&why);
}

int stage_check_finished(const char *dir)
{
    SCOPED(buf) path = file_path(dir, STAGE_SHARDS);
    SCOPED(file_names) left = { 0 };
    int result = file_list_left(&left, path.data);
    if (!result && left.count)
        result = err_set("%s: unfinished: a tfwrite is running there or was killed", dir);
    return result;
}

void stage_close(struct stage *s, int failed)
{
    struct err why = err_keep();
    if (s->work && s->lock >= 0 && !(failed && s->resume && is_begun(s->work) != 0))
        s->torn ? clear(s->dir, s->work, s->lock) : temp_drop(s->work, s->lock);
    else if (s->lock >= 0)
        close(s->lock);
    if (failed && s->dir)
        file_rmdirs(s->dir, s->made);
    err_restore(&why);
    free(s->dir);
    free(s->work);
    *s = (struct stage){ .lock = -1 };
}
