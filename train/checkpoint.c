#include "train/checkpoint.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/pool.h"
#include "common/files/file.h"
#include "common/files/temp.h"
#include "common/formats/kv.h"
#include "model/folder/folder.h"
#include "model/formats/weights.h"
#include "train/samples/batches.h"
#include "train/sums.h"

static const char KIND[] = "checkpoint"; /* the mark of temporary folders */

/* ---- names ----------------------------------------------------------------------------------- */

/* Returns the step in a name like "step-000100", or -1 for any other name. */
static int64_t step_of_name(const char *name)
{
    if (strncmp(name, "step-", 5))
        return -1;
    char *end;
    errno = 0;
    long long step = strtoll(name + 5, &end, 10);
    return errno || end == name + 5 || *end || step < 0 ? -1 : step;
}

static int by_step(const void *a, const void *b)
{
    int64_t x = step_of_name(*(char *const *)a), y = step_of_name(*(char *const *)b);
    return (x > y) - (x < y);
}

/* Sets *out to the names of the checkpoints in `folder`, ordered by step. Removes what killed runs
 * left of checkpoints that they were writing or removing. */
static int list(const char *folder, struct file_names *out)
{
    SCOPED(file_names) all = { 0 };
    int result = file_list_there(&all, folder, "");
    *out = (struct file_names){ 0 };
    for (size_t i = 0; i < all.count && !result; i++) {
        SCOPED(buf) path = file_path(folder, all.names[i]);
        temp_clear(path.data, KIND);
        const int kind = file_look(path.data);
        result = kind < 0 ? -1 : 0;
        if (kind == FILE_FOLDER && step_of_name(all.names[i]) >= 0)
            file_names_add(out, all.names[i]);
    }
    mem_sort(out->names, out->count, by_step);
    return result;
}

/* Reads the state of the checkpoint `path`. Returns 0; SUMS_DAMAGED with an error if there is none,
 * or it cannot be parsed; or -1 with an error if it cannot be read. The caller releases *state. */
static int read_state(struct kv *state, const char *path)
{
    SCOPED(buf) name = file_path(path, "training/state"), text = BUF_INIT;
    *state = (struct kv)KV_INIT;
    if (file_read(name.data, &text) < 0)
        return sums_judge(name.data);
    return kv_parse(state, text.data, text.len) < 0 ? SUMS_DAMAGED : 0;
}

/* Sets *best to the checkpoint with the lowest validation loss, the latest of equal ones, or to
 * names->count if none has a loss. */
static int best_of(const char *folder, const struct file_names *names, size_t *best)
{
    double lowest = INFINITY;
    *best = names->count;
    for (size_t i = 0; i < names->count; i++) {
        SCOPED(buf) path = file_path(folder, names->names[i]);
        SCOPED(kv) state = { 0 };
        const int result = read_state(&state, path.data);
        if (result < 0)
            return -1;
        const char *text = result ? NULL : kv_get(&state, "validation");
        const double loss = text ? strtod(text, NULL) : INFINITY;
        if (loss <= lowest && isfinite(loss)) {
            *best = i;
            lowest = loss;
        }
    }
    return 0;
}

/* Returns 1 if the folder `path`/`sub` has only files that the checkpoint's state lists, beside the
 * state itself and the folder `training`; 0 if not, or -1 with an error. */
static int has_only(const struct kv *state, const char *path, const char *sub)
{
    SCOPED(buf) folder = file_path(path, sub);
    SCOPED(file_names) names = { 0 };
    uint32_t crc;
    int result = file_list_all(&names, folder.data) < 0 ? -1 : 1;
    for (size_t i = 0; i < names.count && result > 0; i++) {
        SCOPED(buf) name = buf_format("%s%s", sub, names.names[i]);
        result = !strcmp(name.data, "training") || !strcmp(name.data, "training/state") ||
                 sums_of_file(state, name.data, &crc);
    }
    return result;
}

/* Returns 1 if this program wrote the checkpoint `path` and all that is in it, 0 if not, or -1 with
 * an error. */
static int is_ours(const char *path)
{
    SCOPED(kv) state = { 0 };
    const int result = read_state(&state, path);
    const char *what = kv_get(&state, "textmill");
    if (result || !what || strcmp(what, "checkpoint 1"))
        return result < 0 ? -1 : 0;
    const int only = has_only(&state, path, "");
    return only > 0 ? has_only(&state, path, "training/") : only;
}

/* Removes the checkpoint `path`, unless it has files of the user's or is read-only. Renames it
 * first, also on the disk: a folder with a checkpoint's name is always complete. */
static int remove_one(const char *path)
{
    SCOPED(buf) temp = BUF_INIT;
    const int fixed = access(path, W_OK) < 0;
    if (fixed && errno != EACCES)
        return err_set("cannot access '%s': %s", path, strerror(errno));
    const int ours = fixed ? 0 : is_ours(path);
    if (!ours)
        log_warn("'%s' stays: %s", path,
                 fixed ? "it is read-only" : "not all in it was written by train");
    if (ours <= 0)
        return ours;
    const int lock = temp_mkdir(&temp, path, KIND, TEMP_GOES);
    if (lock < 0)
        return -1;
    SCOPED(buf) old = file_path(temp.data, "old");
    const int failed = file_rename(path, old.data) < 0 || file_sync_dir(path) < 0;
    if (temp_drop(temp.data, lock) < 0 && !failed) /* NFS: another program reads a file of it */
        log_warn("%s; a later run tries again", err_get());
    return failed ? -1 : 0;
}

/* Checks the files of the checkpoint `path` but the weights and moments. Returns as sums_check. */
static int check_small_files(const char *path)
{
    SCOPED(kv) state = { 0 }, small = KV_INIT;
    const int result = read_state(&state, path);
    for (size_t i = 0; i < state.count; i++)
        if (!strstr(state.pairs[i].value, ".safetensors "))
            kv_add(&small, state.pairs[i].key, state.pairs[i].value);
    return result ? result : sums_check(&small, path, 0, 1);
}

int checkpoint_newest(const char *out, struct buf *path)
{
    SCOPED(buf) folder = file_path(out, "checkpoints");
    SCOPED(file_names) names = { 0 };
    int result = list(folder.data, &names) < 0 ? -1 : SUMS_DAMAGED;
    buf_clear(path);
    for (size_t i = names.count; result > 0 && i-- > 0;) {
        buf_setf(path, "%s/%s", folder.data, names.names[i]);
        result = check_small_files(path->data);
    }
    return result < 0 ? -1 : 0;
}

int checkpoint_prune(const char *out, int64_t keep)
{
    SCOPED(buf) folder = file_path(out, "checkpoints");
    SCOPED(file_names) names = { 0 };
    int result = list(folder.data, &names);
    size_t best = 0;
    if (!result && keep > 0)
        result = best_of(folder.data, &names, &best);
    for (size_t i = 0; !result && keep > 0 && i + (size_t)keep < names.count; i++) {
        SCOPED(buf) path = file_path(folder.data, names.names[i]);
        result = i == best ? 0 : remove_one(path.data);
    }
    return result;
}

int checkpoint_remove_all(const char *out)
{
    SCOPED(buf) folder = file_path(out, "checkpoints");
    SCOPED(file_names) names = { 0 };
    int result = list(folder.data, &names);
    for (size_t i = 0; !result && i < names.count; i++) {
        SCOPED(buf) path = file_path(folder.data, names.names[i]);
        result = remove_one(path.data) < 0 ? -1 : file_look(path.data);
        if (result > 0)
            result = err_set("cannot replace '%s': not all in it was written by train, or it is "
                             "read-only",
                             path.data);
    }
    return result;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Writes the file with the state. `sums` has the checksums of the files that ranks have written;
 * those of the other files are added. */
static int write_state(const char *dir, const struct checkpoint *c, struct kv *sums)
{
    SCOPED(kv) state = KV_INIT;
    kv_add(&state, "textmill", "checkpoint 1");
    kv_addf(&state, "step", "%" PRId64, c->step);
    kv_addf(&state, "position", "%" PRIu64, c->position);
    kv_addf(&state, "order", "%d", BATCHES_ORDER);
    kv_addf(&state, "tokens", "%" PRIu64, c->tokens);
    kv_addf(&state, "sequences", "%" PRIu64, c->sequences);
    if (c->content)
        kv_addf(&state, "content", "%" PRIu64, c->content);
    if (c->blend)
        kv_addf(&state, "blend", "%" PRIu64, c->blend);
    if (c->vocabulary)
        kv_addf(&state, "vocabulary", "%" PRIu64, c->vocabulary);
    if (c->leaves)
        kv_addf(&state, "leaves", "%" PRIu64, c->leaves);
    kv_addf(&state, "milliseconds", "%.0f", c->seconds * 1e3);
    if (isfinite(c->validation))
        kv_addf(&state, "validation", "%.6f", c->validation);
    kv_addf(&state, "next_rate", "%.17g", c->next_rate);
    if (*c->arithmetic)
        kv_add(&state, "arithmetic", c->arithmetic);
    if (sums_add(sums, dir, "") < 0 || sums_add(sums, dir, "training/") < 0)
        return -1;
    sums_sort(sums);
    kv_add_all(&state, sums);
    SCOPED(buf) text = BUF_INIT, path = file_path(dir, "training/state");
    kv_print(&state, &text);
    return file_write(path.data, text.data, text.len);
}

/* Replaces `sums` on the first rank by the lines of all ranks. */
static int collect_sums(struct comm *c, struct kv *sums)
{
    SCOPED(buf) text = BUF_INIT;
    struct kv all = KV_INIT;
    size_t room;
    kv_print(sums, &text);
    SCOPED_MEM char *texts = comm_texts(c, text.data, &room, "sums of files");
    int result = 0;
    for (size_t r = 0; r < (size_t)c->size[COMM_WORLD] && !result && comm_is_first(c); r++)
        result = kv_parse(&all, texts + r * room, strlen(texts + r * room));
    kv_release(sums);
    *sums = all;
    return result;
}

/* Writes the files of a model folder but its weights. */
static int write_rest(const char *dir, const struct checkpoint_content *from)
{
    const struct plan *p = from->plan;
    const struct tokenizer *t = p->tokenizer;
    const int64_t end = t ? tokenizer_end_of_text(t) : -1;
    SCOPED(ids) ends = { 0 };
    SCOPED(buf) path = file_path(dir, "chat_template.jinja");
    if ((t && tokenizer_save(t, p->model.config.positions, p->model.config.types, dir) < 0) ||
        (p->chat.len && file_write(path.data, p->chat.data, p->chat.len) < 0))
        return -1;
    if (end >= 0)
        ids_add(&ends, (uint32_t)end);
    for (size_t i = 0; i < p->ends.count; i++)
        if (p->ends.data[i] != end)
            ids_add(&ends, p->ends.data[i]);
    return folder_save_config(&p->model, from->store->layout.type[STORE_PARAMETERS], dir,
                              t ? tokenizer_begin_of_text(t) : -1, &ends,
                              t ? tokenizer_role(t, TOKENIZER_PAD) : -1, p->sampling.data);
}

/* Makes the folder `dir` of a checkpoint with the files that only the first rank writes. */
static int begin_folder(const char *dir, const struct checkpoint_content *from)
{
    SCOPED(buf) folder = file_path(dir, "training"), path = file_path(dir, "training/config.yaml");
    return file_mkdirs(folder.data) < 0 || write_rest(dir, from) < 0
               ? -1
               : file_write(path.data, from->config, strlen(from->config));
}

/* Sets *name on all ranks to the first rank's text. */
static void tell(struct comm *comm, const char *text, struct buf *name)
{
    size_t room;
    SCOPED_MEM char *all = comm_texts(comm, text, &room, "name of a checkpoint");
    buf_clear(name);
    buf_adds(name, all);
}

/* A checkpoint, or the model of a run, that is being written. First, a thread on each rank
 * completes the rank's files. When all these threads have ended, a second thread on the first rank
 * publishes a checkpoint; on the other ranks, the second thread does nothing. */
struct checkpoint_work {
    struct checkpoint state;
    struct checkpoint_content from;
    struct buf path, temp, new; /* `path` is empty: the model */
    int lock;                   /* descriptor of its mark on the first rank; -1: none */
    struct saved to;
    struct saved_open open;
    struct kv sums;
    pthread_t thread;
    int second;      /* 1: it is the second thread */
    atomic_int done; /* 1: the thread has set `result` and, if that is -1, `why` */
    int result;
    struct err why;
};

static enum saved_files files_of(const struct checkpoint_work *w)
{
    return (enum saved_files)w->from.plan->settings->checkpoint_files;
}

static int in_save(const struct checkpoint_work *w)
{
    return w->path.len ? err_in("cannot save the checkpoint of step %" PRId64 "", w->state.step)
                       : -1;
}

/* Returns -1 with an error on all ranks if `result` is below 0 on any of them, else 0. */
static int agree(const struct checkpoint_work *w, int result)
{
    return comm_agree(w->from.comm, result < 0 ? in_save(w) : 0);
}

/* Completes the folder: writes the indexes and the state into it. Then gives it its name, and
 * removes older checkpoints. */
static int publish(struct checkpoint_work *w)
{
    const struct settings *s = w->from.plan->settings;
    if (saved_index(&w->to, SAVED_WEIGHTS) < 0 || saved_index(&w->to, SAVED_MOMENTS) < 0 ||
        write_state(w->new.data, &w->state, &w->sums) < 0 ||
        file_rename(w->new.data, w->path.data) < 0 || file_sync_dir(w->path.data) < 0)
        return in_save(w);
    return checkpoint_prune(s->output, s->keep);
}

static void *work_main(void *arg)
{
    struct checkpoint_work *w = arg;
    if (!w->second)
        w->result = saved_close(&w->to, 0);
    else if (comm_is_first(w->from.comm))
        w->result = publish(w);
    if (w->result < 0)
        w->why = err_keep();
    atomic_store(&w->done, 1);
    return NULL;
}

/* Sets *wanted to 1 if the checkpoint does not exist, else to 0. If it does not, the first rank
 * makes a temporary folder for it. Returns 0, or -1 with an error, on all ranks. */
static int make_folder(struct checkpoint_work *w, int *wanted)
{
    SCOPED(buf) folder = file_beside(w->path.data, "");
    const int first = comm_is_first(w->from.comm);
    const int kind = first ? file_look(w->path.data) : FILE_NONE;
    int result = kind < 0 ? -1 : 0;
    *wanted = comm_most(w->from.comm, first && kind != FILE_FOLDER);
    if (!result && first && *wanted)
        result = file_mkdirs(folder.data);
    if (!result && first && *wanted)
        result = w->lock = temp_mkdir(&w->temp, w->path.data, KIND, TEMP_GOES);
    return agree(w, result);
}

/* Writes all files of the checkpoint but the indexes and the state. Returns 0, or -1 with an error,
 * on all ranks. */
static int write_folder(struct checkpoint_work *w)
{
    struct comm *comm = w->from.comm;
    SCOPED(buf) temp = BUF_INIT;
    tell(comm, comm_is_first(comm) ? w->temp.data : "", &temp);
    w->new = file_path(temp.data, "new");
    w->to = (struct saved){ w->new.data, &w->from.plan->model, w->from.store,
                            comm,        files_of(w),          &w->open,
                            &w->sums };
    int result = comm_is_first(comm) ? begin_folder(w->new.data, &w->from) : 0;
    if (agree(w, result) < 0)
        return -1;
    result = saved_write(&w->to, SAVED_WEIGHTS, 0);
    result = saved_write(&w->to, SAVED_MOMENTS, result);
    return agree(w, result);
}

/* Removes the temporary folder and frees the work. Returns `result` and keeps its error; -1 with an
 * error if the folder cannot be removed. */
static int end_work(struct checkpoint_work *w, int result)
{
    struct err why = err_keep();
    saved_close(&w->to, -1);
    const int dropped = w->lock >= 0 ? temp_drop(w->temp.data, w->lock) : 0;
    kv_release(&w->sums);
    buf_release(&w->path);
    buf_release(&w->temp);
    buf_release(&w->new);
    free(w);
    return result < 0 ? err_restore(&why) : dropped;
}

/* Starts the next thread, sets *work to `w` and returns 1; with more 0 or after an error, ends the
 * work, sets *work to NULL and returns as end_work. */
static int next(struct checkpoint_work **work, struct checkpoint_work *w, int result, int more)
{
    *work = !result && more ? w : NULL;
    if (!*work)
        return end_work(w, result);
    atomic_store(&w->done, 0);
    pool_start_thread(&w->thread, work_main, w);
    return 1;
}

int checkpoint_begin(struct checkpoint_work **work, const struct checkpoint *c,
                     const struct checkpoint_content *from)
{
    struct checkpoint_work *w = mem_zalloc(1, sizeof *w);
    int wanted;
    *w = (struct checkpoint_work){ .state = *c, .from = *from, .lock = -1, .to.open = &w->open };
    buf_addf(&w->path, "%s/checkpoints/step-%06" PRId64, from->plan->settings->output, c->step);
    int result = make_folder(w, &wanted);
    if (!result && wanted)
        result = write_folder(w);
    return next(work, w, result, wanted) < 0 ? -1 : 0;
}

int checkpoint_begin_model(struct checkpoint_work **work, const struct checkpoint_content *from)
{
    struct checkpoint_work *w = mem_zalloc(1, sizeof *w);
    const char *dir = from->plan->settings->output;
    const int first = comm_is_first(from->comm);
    *w = (struct checkpoint_work){ .from = *from, .lock = -1 };
    const int several = files_of(w) == SAVED_BLOCK;
    w->to = (struct saved){
        dir,      &from->plan->model,       from->store, from->comm, files_of(w),
        &w->open, several ? &w->sums : NULL
    };
    int result = first ? write_rest(dir, from) : 0;
    /* until the new index is there, a folder that gets several files must not look like a model */
    if (!result && first)
        result = weights_remove(dir, "model", several);
    if (!(result = agree(w, result)))
        result = agree(w, saved_write(&w->to, SAVED_WEIGHTS, 0));
    return next(work, w, result, 1) < 0 ? -1 : 0;
}

int checkpoint_waits(struct checkpoint_work *w)
{
    return !atomic_load(&w->done);
}

int checkpoint_go_on(struct checkpoint_work **work)
{
    struct checkpoint_work *w = *work;
    pthread_join(w->thread, NULL);
    int result = w->result < 0 ? err_restore(&w->why) : 0;
    if (!w->second) {
        const int collected = files_of(w) == SAVED_BLOCK ? collect_sums(w->from.comm, &w->sums) : 0;
        result = agree(w, result < 0 ? result : collected);
    }
    if (!result && !w->path.len && comm_is_first(w->from.comm)) /* a model needs only its index */
        result = saved_index(&w->to, SAVED_WEIGHTS);
    return next(work, w, result, w->path.len && !w->second++);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int parse_state(const struct kv *state, struct checkpoint *c)
{
    const char *kind = kv_get(state, "textmill");
    uint64_t step, milliseconds;
    const struct {
        const char *key;
        uint64_t *to;
        int must;
    } numbers[] = {
        { "step", &step, 1 },
        { "position", &c->position, 1 },
        { "tokens", &c->tokens, 1 },
        { "sequences", &c->sequences, 1 },
        { "milliseconds", &milliseconds, 1 },
        { "order", &c->order, 0 },
        { "content", &c->content, 0 },
        { "blend", &c->blend, 0 },
        { "vocabulary", &c->vocabulary, 0 },
        { "leaves", &c->leaves, 0 },
    };
    if (!kind || strcmp(kind, "checkpoint 1"))
        return err_set("not a checkpoint of this program");
    *c = (struct checkpoint){ .order = 1, .validation = NAN };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if ((numbers[i].must || kv_get(state, numbers[i].key)) &&
            kv_get_u64(state, numbers[i].key, numbers[i].to) < 0)
            return -1;
    const char *arithmetic = kv_get(state, "arithmetic"), *rate = kv_get(state, "next_rate");
    snprintf(c->arithmetic, sizeof c->arithmetic, "%s", arithmetic ? arithmetic : "");
    c->next_rate = rate ? strtod(rate, NULL) : NAN;
    c->step = (int64_t)step;
    c->seconds = (double)milliseconds * 1e-3;
    return 0;
}

/* Reads the state and the configuration, and checks this rank's part of the files. Returns as
 * checkpoint_read does. */
static int read_part(const char *path, const struct comm *comm, struct checkpoint *c,
                     struct buf *config)
{
    SCOPED(buf) name = file_path(path, "training/config.yaml");
    SCOPED(kv) state = { 0 };
    int result = read_state(&state, path);
    if (!result && parse_state(&state, c) < 0)
        result = SUMS_DAMAGED;
    if (!result)
        result = sums_check(&state, path, comm->rank[COMM_WORLD], comm->size[COMM_WORLD]);
    if (!result && file_read(name.data, config) < 0)
        result = sums_judge(name.data);
    if (result)
        err_in("checkpoint '%s'", path);
    return result;
}

int checkpoint_read(const char *path, struct comm *comm, struct checkpoint *c, struct buf *config)
{
    const int result = read_part(path, comm, c, config), failed = comm_most(comm, result < 0);
    /* what cannot be read comes before damage */
    if (comm_agree(comm, (failed ? result < 0 : result) ? -1 : 0) == 0)
        return 0;
    return failed ? -1 : SUMS_DAMAGED;
}

/* Renames a damaged checkpoint to a name that no other damaged one has (checkpoint_find). */
static int set_aside(const char *path)
{
    SCOPED(buf) aside = buf_format("%s.damaged", path);
    int there = file_look(aside.data);
    for (int i = 2; there > 0; i++) {
        buf_setf(&aside, "%s.damaged-%d", path, i);
        there = file_look(aside.data);
    }
    return there < 0 ? -1 : file_rename(path, aside.data);
}

/* Renames the checkpoints names[sound + 1] and later as damaged. */
static int set_aside_newer(const char *folder, const struct file_names *names, size_t sound)
{
    int result = 0;
    for (size_t i = sound + 1; i < names->count && !result; i++) {
        SCOPED(buf) path = file_path(folder, names->names[i]);
        result = set_aside(path.data);
    }
    return result;
}

int checkpoint_all_see(struct comm *comm, const char *out, const char *path)
{
    const int kind = file_look(path);
    if (comm_agree(comm, kind < 0 ? -1 : 0) < 0)
        return -1;
    const int other = comm_differs(comm, kind == FILE_FOLDER);
    if (!other)
        return 0;
    return err_set("rank %d on %s does not see '%s', which rank 0 on %s sees: is '%s' a folder "
                   "that all hosts share?",
                   other, comm_host(comm, other), path, comm_host(comm, 0), out);
}

int checkpoint_find(const char *out, struct comm *comm, struct buf *path, struct checkpoint *c,
                    struct buf *config, struct buf *damaged)
{
    SCOPED(buf) folder = file_path(out, "checkpoints"), name = BUF_INIT;
    SCOPED(file_names) names = { 0 }; /* on the first rank; others know only their number */
    struct err newest = { 0 };
    const int first = comm_is_first(comm);
    int result = comm_agree(comm, first ? list(folder.data, &names) : 0), found = 0;
    const int count = comm_most(comm, (int)names.count);
    for (int i = count; !result && !found && i-- > 0;) {
        tell(comm, first ? names.names[i] : "", &name);
        buf_setf(path, "%s/%s", folder.data, name.data);
        buf_clear(config);
        const int read = checkpoint_all_see(comm, out, path->data) < 0
                             ? -1
                             : checkpoint_read(path->data, comm, c, config);
        if (read < 0)
            return -1;
        found = !read;
        if (!found && first)
            buf_addf(damaged, "%s\n", err_get());
        if (!found && i + 1 == count)
            newest = err_keep();
        else if (found)
            result = comm_agree(comm, first ? set_aside_newer(folder.data, &names, (size_t)i) : 0);
    }
    if (!result && count && !found)
        result = err_restore(&newest);
    return result < 0 ? -1 : found;
}
