#include "tfrecord/publish/shard_folder.h"

#include "common/base/ids.h"
#include "common/base/log.h"
#include "common/files/compress.h"
#include "common/files/file.h"
#include "common/formats/kv.h"
#include "tfrecord/formats/manifest.h"

/* The writing of a set in its work folder. */
struct work {
    const struct shard_folder *f;
    struct intake *s;
    struct stage stage;
};

/* Completes the recipe of a folder, and stores the plan: the manifest's lines that are known at the
 * start, and the number of shards. Returns 0, or -1 with an error. */
static int plan(struct work *k, const char *folder, struct kv *recipe)
{
    const struct shard_set *set = &k->f->set;
    SCOPED(kv) m = KV_INIT;
    if (set->compression != COMPRESS_NONE)
        kv_add(recipe, "compression", compress_name(set->compression));
    kv_add_all(&m, recipe);
    intake_describe(k->s, &m);
    kv_addf(&m, "shards", "%u", set->count);
    return stage_plan(&k->stage, folder, &m);
}

/* Completes a manifest that has the recipe and the numbers of the data, and writes it. */
static int write_manifest(struct work *k, const char *folder, struct kv *m, const struct kv *files)
{
    SCOPED(buf) dir = file_path(k->stage.work, folder), path = file_path(dir.data, "manifest");
    intake_describe(k->s, m);
    kv_add_all(m, files);
    int result = *folder ? 0
                         : manifest_add_tokenizer(m, dir.data, "tokenizer.json",
                                                  &k->s->stream.tokenizer);
    intake_provenance(k->s, m, k->f->provenance);
    return result < 0 ? -1 : manifest_write(m, path.data);
}

/* ---- layout gpt --------------------------------------------------------------------------- */

static void describe_windows(const struct windows *w, const char *part, struct kv *m)
{
    kv_add(m, "layout", "gpt");
    kv_add(m, "part", part);
    if (w->validation > 0)
        kv_addf(m, "validation", "%.15g", w->validation);
    kv_addf(m, "sequence_length", "%u", w->sequence_length);
    if (w->best_fit) {
        kv_add(m, "pack", "best-fit");
    } else {
        kv_addf(m, "stride", "%" PRIu64, w->stride);
        kv_add(m, "remainder", w->pad ? "pad" : "drop");
    }
    if (w->end_of_text & IDS_UNCOUNTED)
        kv_add(m, "loss_mask", "1");
    kv_add(m, "shuffle", w->keep_order ? "false" : "true");
    if (w->group == WINDOWS_ALL)
        kv_add(m, "group", "all");
    else
        kv_addf(m, "group", "%" PRIu64, w->group);
    kv_addf(m, "seed", "%" PRIu64, w->seed);
}

static int write_windows(struct work *k, const struct windows *w, struct windows_part *all)
{
    static const char *const folders[WINDOWS_PARTS] = { "", "validation" };
    const char *const names[WINDOWS_PARTS] = { w->validation > 0 ? "train" : "all", "validation" };
    struct windows_part parts[WINDOWS_PARTS] = { { .files = KV_INIT }, { .files = KV_INIT } };
    struct kv recipes[WINDOWS_PARTS] = { KV_INIT, KV_INIT };
    struct buf dirs[WINDOWS_PARTS] = { BUF_INIT, BUF_INIT };
    int count = w->validation > 0 ? 2 : 1, result = 0;
    for (int i = 0; i < count && !result; i++) {
        dirs[i] = file_path(k->stage.work, folders[i]);
        parts[i].dir = dirs[i].data;
        describe_windows(w, names[i], &recipes[i]);
        result = file_mkdirs(parts[i].dir) < 0 ? -1 : plan(k, folders[i], &recipes[i]);
    }
    progress_begin("record(s)", 0);
    if (!result)
        result = windows_write(w, &k->f->set, k->s, parts);
    progress_end();
    for (int i = count; i-- > 0 && !result;) { /* the whole set's manifest is written last */
        kv_addf(&recipes[i], "documents", "%" PRIu64, parts[i].documents);
        kv_addf(&recipes[i], "tokens", "%" PRIu64, parts[i].tokens);
        kv_addf(&recipes[i], "records", "%" PRIu64, parts[i].records);
        if (w->best_fit) {
            kv_addf(&recipes[i], "filled", "%" PRIu64, parts[i].filled);
            kv_addf(&recipes[i], "cut_documents", "%" PRIu64, parts[i].cut);
        }
        all->documents += parts[i].documents;
        all->tokens += parts[i].tokens;
        all->records += parts[i].records;
        all->filled += parts[i].filled;
        all->cut += parts[i].cut;
        all->held += i == WINDOWS_HELD ? parts[i].tokens : 0;
        result = write_manifest(k, folders[i], &recipes[i], &parts[i].files);
    }
    for (int i = 0; i < WINDOWS_PARTS; i++) {
        kv_release(&parts[i].files);
        kv_release(&recipes[i]);
        buf_release(&dirs[i]);
    }
    return result;
}

/* ---- layouts bert, bert-tf1, bert-packed -------------------------------------------------- */

static void describe_recipe(const struct bert_shards *b, struct kv *m)
{
    kv_add(m, "layout", bert_layout_name(b->layout));
    kv_addf(m, "sequence_length", "%u", b->recipe.sequence_length);
    kv_addf(m, "mask_tokens", "%u", b->recipe.mask_tokens);
    kv_addf(m, "mlm_probability", "%.15g", b->recipe.mlm);
    kv_addf(m, "short_sequence_probability", "%.15g", b->recipe.short_sequence);
    kv_addf(m, "duplication_factor", "%u", b->recipe.passes);
    kv_add(m, "whole_word_masking", b->words ? "true" : "false");
    kv_addf(m, "group", "%" PRIu64, b->group);
    kv_addf(m, "seed", "%" PRIu64, b->recipe.seed);
}

static void describe_instances(const struct bert_shards *b, struct kv *m)
{
    kv_addf(m, "documents", "%" PRIu64, b->documents);
    kv_addf(m, "sequences", "%" PRIu64, b->sequences);
    kv_addf(m, "tokens", "%" PRIu64, b->tokens);
    kv_addf(m, "records", "%" PRIu64, b->records);
    if (b->layout == BERT_PACKED) {
        kv_addf(m, "efficiency", "%.4f", bert_shards_efficiency(b));
        kv_addf(m, "packing_factor", "%.4f",
                b->records ? (double)b->sequences / (double)b->records : 0);
    }
}

static int write_bert(struct work *k, struct bert_shards *b)
{
    SCOPED(kv) m = KV_INIT, files = KV_INIT;
    struct shard_set set = k->f->set;
    set.dir = k->stage.work;
    describe_recipe(b, &m);
    int result = plan(k, "", &m);
    progress_begin("record(s)", 0);
    if (!result)
        result = bert_shards_write(b, &set, k->s, &files);
    progress_end();
    if (result < 0)
        return -1;
    describe_instances(b, &m);
    return write_manifest(k, "", &m, &files);
}

/* ---- the folder --------------------------------------------------------------------------- */

/* Returns 1 if the manifest lists the file, or the records of which it is the index; else 0. */
static int is_listed(const struct manifest *m, const char *name)
{
    const size_t stem = strlen(name) - (file_ends_with(name, ".index") ? strlen(".index") : 0);
    SCOPED(buf) records = buf_format("%.*s%s", (int)stem, name, name[stem] ? ".tfrecord" : "");
    return manifest_find(m, records.data) != NULL;
}

/* Returns -1 with an error if `dir` has a finished set and `force` is 0, or has files that no
 * manifest lists and that the new set could replace. Else returns 0. */
static int check_folder(const char *dir, int force)
{
    SCOPED(file_names) files = { 0 };
    SCOPED(manifest) m = { 0 };
    SCOPED(buf) path = file_path(dir, "manifest");
    const int there = manifest_load(&m, path.data);
    if (there > 0 && !force)
        return err_set("'%s' holds a finished data set (--force replaces it)", dir);
    if (there < 0 || file_list_there(&files, dir, "") < 0)
        return -1;
    for (size_t i = 0; i < files.count; i++) {
        const char *name = files.names[i];
        if ((file_ends_with(name, ".tfrecord") || file_ends_with(name, ".index") ||
             !strcmp(name, "tokenizer.json")) &&
            !is_listed(&m, name))
            return err_set("'%s' has '%s', which no manifest lists: choose another folder", dir,
                           name);
    }
    return 0;
}

int shard_folder_check(const char *dir, int force)
{
    SCOPED(buf) held = file_path(dir, "validation");
    return check_folder(dir, force) < 0 ? -1 : check_folder(held.data, force);
}

int shard_folder_publish(struct stage *stage, int two)
{
    SCOPED(buf) held = file_path(stage->dir, "validation");
    if (stage_forget(stage, "", "manifest") < 0 ||
        stage_forget(stage, "validation", "manifest") < 0)
        return -1;
    const int stays = file_rmdir(held.data) < 0 && !two;
    struct err why = err_keep();
    if (two && stage_publish(stage, "validation", "manifest") < 0)
        return -1;
    if (stage_publish(stage, "", "manifest") == 0)
        return stays ? err_restore(&why) : 0;
    why = err_keep();
    stage_forget(stage, "validation", "manifest");
    file_rmdirs(held.data, 1);
    return err_restore(&why);
}

/* Writes the folder in one of the layouts: that of `b`, or gpt as `w` says if `b` is NULL. For gpt
 * sets *all to the sums of its parts. Returns 0, or -1 with an error. */
static int write_folder(const struct shard_folder *f, struct intake *s, const struct windows *w,
                        struct windows_part *all, struct bert_shards *b)
{
    struct work k = { f, s, { .lock = -1 } };
    if (stage_open(&k.stage, f->set.dir, STAGE_SHARDS, f->set.resume) < 0)
        return -1;
    const int failed = shard_folder_check(f->set.dir, f->force) < 0 ||
                       (b ? write_bert(&k, b) : write_windows(&k, w, all)) < 0 ||
                       shard_folder_publish(&k.stage, w && w->validation > 0) < 0;
    stage_close(&k.stage, failed);
    return failed ? -1 : 0;
}

int shard_folder_gpt(const struct shard_folder *f, struct intake *s, const struct windows *w,
                     struct windows_part *all)
{
    *all = (struct windows_part){ 0 };
    if (intake_want_end_of_text(s, "the gpt layout") < 0)
        return -1;
    return write_folder(f, s, w, all, NULL);
}

int shard_folder_bert(const struct shard_folder *f, struct intake *s, struct bert_shards *b)
{
    return write_folder(f, s, NULL, NULL, b);
}
