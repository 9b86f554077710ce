#include "tfrecord/shard_folder.h"

#include <inttypes.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/file.h"
#include "common/kv.h"
#include "tfrecord/compress.h"
#include "tfrecord/corpus.h"
#include "tfrecord/manifest.h"
#include "tfrecord/stage.h"

static void describe_compression(enum compression compression, struct kv *m)
{
    if (compression != COMPRESS_NONE)
        kv_add(m, "compression", compress_name(compression));
}

/* What a run is to make: what the manifest will say and is known, how many shards, and for a stream
 * that was read already its checksum. */
static int plan(struct stage *stage, const char *folder, const struct kv *m, uint32_t shards,
                const char *stream)
{
    struct kv all = KV_INIT;
    for (size_t i = 0; i < m->count; i++)
        kv_add(&all, m->pairs[i].key, m->pairs[i].value);
    kv_addf(&all, "shards", "%u", shards);
    if (stream)
        kv_add(&all, "stream", stream);
    int result = stage_plan(stage, folder, &all);
    kv_release(&all);
    return result;
}

/* ---- layout gpt --------------------------------------------------------------------------- */

static void describe_windows(const struct windows *w, const struct corpus_part *p, struct kv *m)
{
    kv_addf(m, "sequence_length", "%u", w->sequence_length);
    kv_addf(m, "stride", "%" PRIu64, w->stride);
    kv_add(m, "remainder", w->pad ? "pad" : "drop");
    kv_add(m, "shuffle", w->keep_order ? "false" : "true");
    kv_addf(m, "seed", "%" PRIu64, w->seed);
    describe_compression(w->compression, m);
    kv_addf(m, "documents", "%zu", p->count);
    kv_addf(m, "tokens", "%" PRIu64, p->tokens);
    kv_addf(m, "records", "%" PRIu64, windows_count(w, p));
}

/* The writing of a set in its work folder. */
struct work {
    const struct shard_folder *f;
    struct intake *s;
    struct stage stage;
};

/* Writes a part's shards and manifest into the work folder, or the folder `folder` in it. */
static int write_part(struct work *k, const struct windows *w, const struct corpus_part *p,
                      const char *folder, const char *name)
{
    struct kv m = KV_INIT;
    struct buf dir = BUF_INIT, path = BUF_INIT, stream = BUF_INIT;
    file_join(&dir, k->stage.work, folder);
    file_join(&path, dir.data, "manifest");
    buf_addf(&stream, "%08" PRIx32, k->s->crc);
    kv_add(&m, "textmill", "shards 1");
    kv_add(&m, "layout", "gpt");
    kv_add(&m, "part", name);
    if (k->f->validation > 0)
        kv_addf(&m, "validation", "%g", k->f->validation);
    describe_windows(w, p, &m);
    intake_describe(k->s, &m);
    int result = file_mkdirs(dir.data);
    if (!result)
        result = plan(&k->stage, folder, &m, w->shards, stream.data);
    k->f->watch.begin("records", windows_count(w, p));
    if (!result)
        result = windows_write(w, p, dir.data, &m);
    k->f->watch.end();
    intake_provenance(k->s, &m, k->f->provenance);
    if (!result)
        result = manifest_write(&m, path.data);
    kv_release(&m);
    buf_release(&dir);
    buf_release(&path);
    buf_release(&stream);
    return result;
}

static int too_small(const struct intake *s, const struct windows *w, const char *part)
{
    return err_set("%s: %" PRIu64 " documents with %" PRIu64 " tokens are too few%s: no record of "
                   "%u tokens and a label",
                   s->in.path, s->documents, s->tokens, part, w->sequence_length);
}

static int read_corpus(struct work *k, struct corpus *c)
{
    struct intake *s = k->s;
    int result;
    k->f->watch.begin("documents", 0);
    while ((result = intake_next(s)) > 0) {
        s->ids[s->count] = (uint32_t)s->end_of_text;
        if (corpus_add(c, s->ids, s->count + 1) < 0)
            return -1;
        k->f->watch.to(s->documents);
    }
    k->f->watch.end();
    return result < 0 ? -1 : corpus_map(c);
}

/* Reads all documents, deals them out and writes both parts into the work folder. */
static int write_parts(struct work *k, const struct windows *w, struct corpus *c, uint64_t *records)
{
    struct corpus_part held, rest;
    double share = k->f->validation;
    if (read_corpus(k, c) < 0)
        return -1;
    uint64_t least = share > 0 ? (uint64_t)w->sequence_length + 1 : 0;
    corpus_split(c, w->seed, share, least, w->keep_order, &held, &rest);
    if (!windows_count(w, &rest))
        return too_small(k->s, w, share > 0 ? " for two parts" : "");
    if (share > 0 && !windows_count(w, &held))
        return too_small(k->s, w, " for validation");
    *records = windows_count(w, &rest) + (share > 0 ? windows_count(w, &held) : 0);
    if (share > 0 && write_part(k, w, &held, "validation", "validation") < 0)
        return -1;
    return write_part(k, w, &rest, "", share > 0 ? "train" : "all");
}

static int write_gpt(struct work *k, const struct windows *w, uint64_t *records)
{
    struct corpus c = { .bytes = BUF_INIT };
    struct buf path = BUF_INIT;
    file_join(&path, k->stage.work, "tokens");
    int result = corpus_open(&c, path.data, k->s->stream.width);
    if (!result)
        result = write_parts(k, w, &c, records);
    corpus_release(&c);
    buf_release(&path);
    return result;
}

/* ---- layouts bert, bert-tf1, bert-packed -------------------------------------------------- */

static void describe_recipe(const struct bert_shards *b, struct kv *m)
{
    kv_add(m, "textmill", "shards 1");
    kv_add(m, "layout", bert_layout_name(b->layout));
    kv_addf(m, "sequence_length", "%u", b->recipe.sequence_length);
    kv_addf(m, "mask_tokens", "%u", b->recipe.mask_tokens);
    kv_addf(m, "mlm_probability", "%g", b->recipe.mlm);
    kv_addf(m, "short_sequence_probability", "%g", b->recipe.short_sequence);
    kv_addf(m, "duplication_factor", "%u", b->recipe.passes);
    kv_add(m, "whole_word_masking", b->words ? "true" : "false");
    kv_addf(m, "group", "%" PRIu64, b->group);
    kv_addf(m, "seed", "%" PRIu64, b->recipe.seed);
    describe_compression(b->compression, m);
}

static void describe_instances(const struct bert_shards *b, struct kv *m)
{
    kv_addf(m, "documents", "%" PRIu64, b->documents);
    kv_addf(m, "sequences", "%" PRIu64, b->sequences);
    kv_addf(m, "tokens", "%" PRIu64, b->tokens);
    kv_addf(m, "records", "%" PRIu64, b->records);
    if (b->layout == BERT_PACKED) {
        kv_addf(m, "efficiency", "%.4f", bert_shards_efficiency(b));
        kv_addf(m, "packing_factor", "%.4f", (double)b->sequences / (double)b->records);
    }
}

static int plan_bert(struct work *k, const struct bert_shards *b)
{
    struct kv m = KV_INIT;
    describe_recipe(b, &m);
    intake_describe(k->s, &m);
    int result = plan(&k->stage, "", &m, b->shards, NULL);
    kv_release(&m);
    return result;
}

static int write_bert(struct work *k, struct bert_shards *b)
{
    struct kv m = KV_INIT, files = KV_INIT;
    struct buf path = BUF_INIT;
    file_join(&path, k->stage.work, "manifest");
    int result = plan_bert(k, b);
    k->f->watch.begin("records", 0);
    if (!result)
        result = bert_shards_write(b, k->s, k->stage.work, &files);
    k->f->watch.end();
    if (!result) {
        describe_recipe(b, &m);
        describe_instances(b, &m);
        intake_describe(k->s, &m);
        for (size_t i = 0; i < files.count; i++)
            kv_add(&m, files.pairs[i].key, files.pairs[i].value);
        intake_provenance(k->s, &m, k->f->provenance);
        result = manifest_write(&m, path.data);
    }
    kv_release(&m);
    kv_release(&files);
    buf_release(&path);
    return result;
}

/* ---- the folder --------------------------------------------------------------------------- */

/* Refuses to replace what is finished without --force, and to add to what is not ours ever. */
static int check_folder(const struct shard_folder *f, const char *dir)
{
    struct file_names files;
    struct manifest m;
    struct buf path = BUF_INIT;
    file_join(&path, dir, "manifest");
    int there = manifest_load(&m, path.data), result = there < 0 ? -1 : 0;
    if (there > 0 && !f->force)
        result = err_set("'%s' holds a finished data set (--force replaces it)", dir);
    if (!result && file_is_dir(dir) && file_list(&files, dir, ".tfrecord") == 0) {
        for (size_t i = 0; i < files.count && !result; i++)
            if (!there || !manifest_find(&m, files.names[i]))
                result = err_set("'%s' has '%s', which no manifest lists: choose another folder",
                                 dir, files.names[i]);
        file_names_free(&files);
    }
    if (there > 0)
        manifest_release(&m);
    buf_release(&path);
    return result;
}

/* The old data set goes, then the new one appears: the validation part, and last the manifest
 * of the folder itself. */
static int publish(struct work *k, const char *held)
{
    struct stage *stage = &k->stage;
    if (stage_forget(stage->dir, "manifest") < 0 || stage_forget(held, "manifest") < 0)
        return -1;
    if (file_is_dir(held))
        rmdir(held); /* if nothing of the user's is in it */
    if (k->f->validation > 0 && stage_publish(stage, "validation", "manifest") < 0)
        return -1;
    if (stage_publish(stage, "", "manifest") == 0)
        return 0;
    struct err why = err_keep();
    stage_forget(held, "manifest");
    rmdir(held);
    return err_restore(&why);
}

/* One of the layouts: `w` with its records, or `b`. */
static int write_folder(const struct shard_folder *f, struct intake *s, const struct windows *w,
                        uint64_t *records, struct bert_shards *b)
{
    struct work k = { f, s, { .lock = -1 } };
    struct buf held = BUF_INIT;
    int result = f->resume ? stage_resume(&k.stage, f->dir, STAGE_SHARDS)
                           : stage_open(&k.stage, f->dir, STAGE_SHARDS);
    if (result < 0)
        return -1;
    file_join(&held, f->dir, "validation");
    if (!result)
        result = check_folder(f, f->dir);
    if (!result)
        result = check_folder(f, held.data);
    if (!result)
        result = b ? write_bert(&k, b) : write_gpt(&k, w, records);
    if (!result)
        result = publish(&k, held.data);
    stage_close(&k.stage, result < 0);
    buf_release(&held);
    return result;
}

int shard_folder_gpt(const struct shard_folder *f, struct intake *s, const struct windows *w,
                     uint64_t *records)
{
    *records = 0;
    if (intake_want_end_of_text(s, "the gpt layout") < 0)
        return -1;
    return write_folder(f, s, w, records, NULL);
}

int shard_folder_bert(const struct shard_folder *f, struct intake *s, struct bert_shards *b)
{
    return write_folder(f, s, NULL, NULL, b);
}
