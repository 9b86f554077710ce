#include "train/start.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "common/base/again.h"
#include "common/base/log.h"
#include "common/files/file.h"
#include "common/program/tool.h"
#include "model/folder/folder.h"
#include "model/formats/weights.h"
#include "train/report/origin.h"
#include "train/samples/batches.h"
#include "train/saved.h"

/* Returns the value that a configuration gives `key`, without quotes, or NULL if there is none.
 * Sets *n to its length, and *text to 1 if it had quotes, else to 0. */
static const char *value_of(const char *config, const char *key, int *n, int *text)
{
    SCOPED(buf) start = buf_format("\n%s: ", key);
    const int first = !strncmp(config, start.data + 1, start.len - 1);
    const char *at = first ? config : strstr(config, start.data);
    if (!at)
        return NULL;
    at += start.len - (size_t)first;
    *n = (int)strcspn(at, "\n");
    *text = *n > 1 && (*at == '\'' || *at == '"') && at[*n - 1] == *at;
    *n -= 2 * *text;
    return at + *text;
}

/* Compares the setting `key` of the checkpoint's configuration with the present one. A difference
 * is an error if a resumed run must have the same value (OPT_FIXED), else a warning, or nothing if
 * the value is free. If the checkpoint lacks the setting, only a text is compared: earlier versions
 * wrote no line for others. */
static int compare_setting(const struct run_start *s, const char *then, const char *key)
{
    static const char unset[] = "unset";
    const unsigned flags = tool_flags(key);
    int old_len = sizeof unset - 1, new_len = old_len, text = 0;
    const char *new_value = value_of(s->config, key, &new_len, &text);
    const char *old_value = value_of(then, key, &old_len, &(int){ 0 });
    if (flags & (OPT_FREE | OPT_OF_RUN | OPT_NO_SETTING) || (!old_value && !text))
        return 0;
    const int known = old_value != NULL;
    new_value = new_value ? new_value : unset;
    old_value = known ? old_value : unset;
    if (new_len == old_len && !memcmp(new_value, old_value, (size_t)old_len))
        return 0;
    if (known && flags & OPT_FIXED)
        return err_set("cannot resume with --%s %.*s: the run has %.*s; leave it so, or begin "
                       "another run",
                       key, new_len, new_value, old_len, old_value);
    log_warn("resuming with another value of %s: it was %.*s and is %.*s now", key, old_len,
             old_value, new_len, new_value);
    return 0;
}

static int compare_settings(const struct run_start *s, const char *then)
{
    char key[64];
    int n, text;
    for (int pass = 0; pass < 2; pass++)
        for (const char *line = pass ? s->config : then; *line;) {
            snprintf(key, sizeof key, "%.*s", (int)strcspn(line, ":\n"), line);
            if (!(pass && value_of(then, key, &n, &text)) && compare_setting(s, then, key) < 0)
                return -1;
            line += strcspn(line, "\n");
            line += *line == '\n';
        }
    return 0;
}

int start_has_folder(const char *folder, int lock)
{
    struct stat now, then;
    if (lock < 0)
        return 0;
    const int there = stat(folder, &now) == 0;
    if ((!there && errno != ENOENT && errno != ENOTDIR) || fstat(lock, &then) < 0)
        return err_set("cannot access '%s': %s", folder, strerror(errno));
    if (there && now.st_ino == then.st_ino && now.st_dev == then.st_dev)
        return 0;
    return err_set("'%s' is no longer the folder of this run: it was moved or removed; --resume "
                   "goes on in the folder that has its checkpoints",
                   folder);
}

/* Files that show that a folder holds a run or a model. A new run needs a folder without them. */
static const char *const marks[] = { "metrics.jsonl",
                                     "checkpoints", /* of a run */
                                     "model.safetensors.index.json",
                                     "model.safetensors",
                                     "pytorch_model.bin.index.json",
                                     "pytorch_model.bin",
                                     "bert_model.ckpt.index",
                                     "model.ckpt.index" };
enum { RUN_MARKS = 2, MARKS = sizeof marks / sizeof *marks };

/* Returns -1 with an error if the folder has a config.yaml of the user's, which a new run would
 * write anew; else 0. Before version 0.2.0 that of a run told no command. */
static int refuse_own_config(const char *out)
{
    SCOPED(buf) path = file_path(out, "config.yaml");
    const int run = file_first(out, marks, RUN_MARKS) != RUN_MARKS;
    const int ours = run ? 1 : origin_may_replace(path.data, "# command: ");
    return ours ? (ours < 0 ? -1 : 0)
                : err_set("'%s' was not written by train: give --output another folder, or --force "
                          "to replace the file",
                          path.data);
}

int start_refuse_old_run(const struct settings *s)
{
    const char *out = s->output;
    const int resumed = s->resume,
              lost = s->force && !s->save; /* no new model replaces an old one */
    const int first = resumed ? RUN_MARKS : lost;
    const int found = file_first(out, marks + first, MARKS - first);
    if (found == MARKS - first && !s->force)
        return refuse_own_config(out);
    if (found < 0 || found == MARKS - first || (s->force && !lost))
        return found < 0 ? -1 : 0;
    return err_set(lost      ? "'%s' holds a model, which --force would remove and --no-save not "
                               "replace: give --output another folder"
                   : resumed ? "'%s' holds a model and no checkpoint to go on from: give --output "
                               "another folder, or --force in place of --resume to replace it"
                   : found < RUN_MARKS ? "'%s' holds a training run (--resume goes on with it, "
                                         "--force replaces it)"
                                       : "'%s' holds a model (--force replaces it)",
                   out);
}

/* Returns -1 with an error if --force would remove the model in the folder `from`, else 0. `option`
 * is the name of the option whose value the folder is. */
static int refuse_own_base(const struct settings *s, const char *option, const char *from)
{
    SCOPED_MEM char *base = NULL, *folder = NULL;
    if ((from && file_real_path(&base, from) < 0) || file_real_path(&folder, s->output) < 0)
        return -1;
    const size_t n = base && folder ? strlen(folder) : 0;
    if (!n || strncmp(base, folder, n) != 0 ||
        (base[n] && strncmp(base + n, "/checkpoints/", 13) != 0))
        return 0;
    return err_set("--%s '%s' is in the folder of the new run, and --force would remove it: give "
                   "--output another folder",
                   option, from);
}

int start_remove_old_run(const char *out)
{
    SCOPED(buf) path = file_path(out, "metrics.jsonl"),
                chat = file_path(out, "chat_template.jinja"); /* a new model may have none */
    return checkpoint_remove_all(out) < 0 || weights_remove(out, "model", 1) < 0 ||
                   file_remove(chat.data) < 0
               ? -1
               : file_remove(path.data);
}

static int open_store(const struct run_start *s, const struct store_source *from)
{
    return store_open(s->store, s->ops, &s->plan->own.tensors, &s->plan->store, from,
                      s->plan->engine.seed);
}

/* A model folder from which the store is filled. */
struct source {
    const struct run_start *start;
    struct folder_reader reader;
    struct model model;
};

static int read_block(void *ctx, int block, struct split_part part, struct ops_array *parameters)
{
    struct source *from = ctx;
    return folder_reader_block(&from->reader, &from->model, from->start->ops, block, part.first,
                               part.count, parameters);
}

/* Refuses classes of a resumed run that are not those of its checkpoint, in the same order. */
static int check_classes(const struct labels *then, const struct labels *now)
{
    for (int64_t i = 0; i < now->count; i++) {
        const char *name = labels_name(now, i);
        if (labels_find(then, name, strlen(name)) != i)
            return err_set("cannot resume with other classes: class %" PRId64
                           " was '%s' and is '%s' now",
                           i, labels_name(then, i), name);
    }
    return 0;
}

/* Opens the store with the weights of a model folder, which must have the plan's shapes. *made is
 * as for folder_load; NULL: it is a checkpoint to resume from. */
static int load_store(const struct run_start *s, const char *dir, int *made)
{
    const struct plan *p = s->plan;
    struct source from = { .start = s };
    /* the files of a checkpoint were checked before */
    if (made && s->plan->settings->verify &&
        folder_verify(dir, s->comm->rank[COMM_WORLD], s->comm->size[COMM_WORLD]) < 0)
        return -1;
    if (folder_reader_open(&from.reader, &from.model, dir, &p->model.config, p->own.split,
                           p->engine.seed, made) < 0)
        return -1;
    int result = model_alike(&from.model, &p->own)
                     ? 0
                     : err_set("the sizes, the activation or the settings of attention of the "
                               "model in '%s' differ from those of this run",
                               dir);
    if (!result && !made)
        result = check_classes(&from.model.config.classes, &p->model.config.classes);
    if (!result)
        result = open_store(s, &(struct store_source){ read_block, &from });
    folder_reader_close(&from.reader);
    model_release(&from.model);
    return result;
}

/* Logs how this resumed run differs from one that was not interrupted. */
static void say_otherwise(const struct run_start *s)
{
    const struct checkpoint *at = s->at;
    char arithmetic[PLAN_ARITHMETIC];
    const double rate = schedule_rate(&s->plan->schedule, at->step);
    plan_arithmetic(arithmetic, s->plan, s->ops);
    if (*at->arithmetic && strcmp(at->arithmetic, arithmetic) != 0)
        log_warn("the checkpoint was computed with %s arithmetic, and this run goes on with %s: "
                 "its numbers differ in their last digits from those of an uninterrupted run",
                 at->arithmetic, arithmetic);
    if (at->leaves && at->leaves != plan_leaves(s->plan))
        log_warn("the checkpoint was computed with %" PRIu64 " partial sums of gradients, and this "
                 "run goes on with %" PRIu64 ": its numbers differ in their last digits from those "
                 "of an uninterrupted run (--leaves, for a number of ranks that divides it)",
                 at->leaves, plan_leaves(s->plan));
    if (at->step < s->plan->steps && rate > at->next_rate * (1 + 1e-6))
        log_warn("after step %" PRId64 " the learning rate is %g, above the %g of the run before: "
                 "the settings of the schedule have changed",
                 at->step, rate, at->next_rate);
}

/* Returns 0, or -1 with an error if the checkpoint to resume from is beyond the run's last step. */
static int check_steps(const struct run_start *s)
{
    if (s->at->step > s->plan->steps)
        return err_set("steps is %" PRId64 ", but step %" PRId64 " is saved already: give --steps "
                       "with a larger number, or start a new run in another folder",
                       s->plan->steps, s->at->step);
    if (s->at->step == s->plan->steps)
        log_info("all %" PRId64 " updates are done: --steps with a larger number goes on",
                 s->at->step);
    return 0;
}

/* Returns the checksum of the vocabulary; 0: not known. */
static uint64_t vocabulary_of(const struct plan *p)
{
    return p->tokenizer ? tokenizer_checksum(p->tokenizer) : p->data->facts.checksum;
}

/* Resumes from the checkpoint at `path`, whose state is in *s->at. `config` is its configuration.
 */
static int resume(const struct run_start *s, const char *path, const char *config)
{
    struct plan *p = s->plan;
    if (check_steps(s) < 0 || compare_settings(s, config) < 0)
        return -1;
    const uint64_t sequences = p->data->count, vocabulary = vocabulary_of(p),
                   content = p->data->facts.content;
    if (s->at->sequences != sequences)
        return err_set("cannot resume with other data: it had %" PRIu64
                       " sequences and has %" PRIu64 " now: --start-from takes its weights",
                       s->at->sequences, sequences);
    if (s->at->blend != p->data->blend)
        return err_set("cannot resume with another blend: the sources of the data, their order and "
                       "their weights must stay as they were");
    if (s->at->vocabulary && vocabulary && s->at->vocabulary != vocabulary)
        return err_set("cannot resume with another vocabulary: its checksum was %016" PRIx64
                       " and is %016" PRIx64 " now",
                       s->at->vocabulary, vocabulary);
    s->at->vocabulary = vocabulary ? vocabulary : s->at->vocabulary;
    if (load_store(s, path, NULL) < 0 || saved_read_moments(path, s->store) < 0)
        return -1;
    log_info("resuming from '%s'", path);
    say_otherwise(s);
    if (s->at->order != BATCHES_ORDER && s->at->sequences)
        log_warn(
            "the checkpoint is from a version that took samples in another order: in this epoch "
            "some samples come twice, and others not at all");
    if (s->at->content && content && s->at->content != content)
        log_warn("the files of the data have other checksums than in the run before: unless they "
                 "hold the same samples, in this epoch some come twice, and others not at all");
    s->at->content = content;
    return 0;
}

/* Begins at step 0, unless the first rank finds files that a new run may not replace. */
static int begin(const struct run_start *s)
{
    const struct settings *given = s->plan->settings;
    int made = 0;
    if (comm_is_first(s->comm) &&
        (start_refuse_old_run(given) < 0 ||
         (!given->resume && (refuse_own_base(given, "start-from", given->start_from) < 0 ||
                             refuse_own_base(given, "teacher", given->teacher) < 0))))
        return -1;
    const int writes = comm_is_first(s->comm) && given->save && !given->force,
              kind = writes ? file_look(given->output) : FILE_NONE;
    if (kind < 0 ||
        (kind == FILE_FOLDER && plan_check_vocabulary(s->plan, given->output, "the folder") < 0))
        return err_in("'%s' (--force replaces it)", given->output);
    if ((given->start_from ? load_store(s, given->start_from, &made) : open_store(s, NULL)) < 0)
        return -1;
    if (made)
        log_info("the model to start from lacks tensors of the head, %d: they get initial values",
                 made);
    s->at->sequences = s->plan->data->count;
    s->at->content = s->plan->data->facts.content;
    s->at->blend = s->plan->data->blend;
    s->at->vocabulary = vocabulary_of(s->plan);
    return 0;
}

/* Prints a warning for each line of `damaged`: the damaged checkpoints that are newer than
 * `sound`. */
static void say_damaged(char *damaged, const char *sound)
{
    for (char *line = damaged, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        log_warn("%s; its folder is renamed, with '.damaged' at the end", line);
        if (!end[1])
            log_warn("resuming from an older checkpoint, '%s'", sound);
    }
}

int start_run(const struct run_start *s)
{
    const struct settings *given = s->plan->settings;
    SCOPED(buf) path = BUF_INIT, config = BUF_INIT, damaged = BUF_INIT;
    if (!given->resume)
        return begin(s);
    const int found = checkpoint_find(given->output, s->comm, &path, s->at, &config, &damaged);
    if (found < 0)
        return -1;
    if (!found) {
        log_info("no checkpoint in '%s': starting at step 0", given->output);
        return begin(s);
    }
    say_damaged(damaged.data, path.data);
    return resume(s, path.data, config.data);
}
