#include "tfrecord/publish/merge_sets.h"

#include "common/base/choice.h"
#include "common/base/log.h"
#include "common/files/compress.h"
#include "common/files/file.h"
#include "common/formats/js.h"
#include "tfrecord/formats/manifest.h"
#include "tfrecord/formats/megatron.h"
#include "tfrecord/formats/record.h"
#include "tfrecord/formats/record_file.h"
#include "tfrecord/layouts/record_shard.h"
#include "tfrecord/publish/megatron_pair.h"
#include "tfrecord/publish/stage.h"

/* ---- what manifests say ---------------------------------------------------------------------- */

/* Manifest lines whose numbers are summed. */
static const char *const summed[] = { "documents", "sequences", "tokens",
                                      "records",   "filled",    "cut_documents" };
enum { SEQUENCES = 1, TOKENS = 2, RECORDS = 3, SUMMED = 6 };

/* The manifests of the sets so far. */
struct common {
    struct kv recipe; /* the lines that all have */
    struct kv sets, pg;
    int blends; /* 1: the sets are the sources of a blend */
    uint64_t sums[SUMMED];
    int has[SUMMED];
    struct buf tokenizer; /* text of the first set that has one */
    struct buf rules;     /* how it cuts text */
};

#define COMMON_INIT(blends)                                                                        \
    {                                                                                              \
        KV_INIT, KV_INIT, KV_INIT, blends, { 0 }, { 0 }, BUF_INIT, BUF_INIT                        \
    }

static void common_release(struct common *c)
{
    kv_release(&c->recipe);
    kv_release(&c->sets);
    kv_release(&c->pg);
    buf_release(&c->tokenizer);
    buf_release(&c->rules);
}

/* Returns 1 if the key describes how the data was made, else 0. All sets must agree on such
 * lines. */
static int is_recipe(const char *key)
{
    static const char others[] = "shard|tokenizer|set|source|pg|efficiency|packing_factor";
    for (int i = 0; i < SUMMED; i++)
        if (!strcmp(key, summed[i]))
            return 0;
    return choice_find(others, key, strlen(key)) < 0;
}

static void add_once(struct kv *kv, const char *key, const char *value)
{
    for (size_t i = 0; i < kv->count; i++)
        if (!strcmp(kv->pairs[i].value, value))
            return;
    kv_add(kv, key, value);
}

/* Checks that the lines of a set's recipe are those of the sets before it. */
static int check_recipe(const struct common *c, const struct kv *recipe, const char *path)
{
    const char *key = kv_difference(&c->recipe, recipe);
    const char *was = key ? kv_get(&c->recipe, key) : NULL, *is = key ? kv_get(recipe, key) : NULL;
    return key ? err_set("%s: %s is %s, but %s in the sets before it: only sets that were made in "
                         "the same way can be merged",
                         path, key, is ? is : "not given", was ? was : "not given")
               : 0;
}

/* Adds the numbers of a set's manifest to the sums, and its line to the lines of the new manifest.
 * Returns 0, or -1 with an error. */
static int take_numbers(struct common *c, const struct manifest *m, const char *path)
{
    SCOPED(buf) line = BUF_INIT;
    if (kv_get(&m->kv, "source"))
        return err_set("%s: is the manifest of a blend: take the sets that the blend was made of",
                       path);
    for (int i = 0; i < SUMMED; i++) {
        uint64_t n;
        if (!kv_get(&m->kv, summed[i]))
            continue;
        if (kv_get_u64(&m->kv, summed[i], &n) < 0)
            return err_in("%s", path);
        c->sums[i] += n;
        c->has[i] = 1;
        buf_addf(&line, "%s%s=%" PRIu64, line.len ? " " : "", summed[i], n);
    }
    if (!kv_get(&m->kv, "set") || c->blends)
        kv_add(&c->sets, c->blends ? "source" : "set", line.data);
    return 0;
}

/* Takes the tokenizer of the file `path` if it is the first one. Else it must cut text as that one
 * does: one list of tokens, whose checksum the manifest has, may be used with and without case.
 * Returns 0, or -1 with an error. */
static int take_tokenizer(struct common *c, const char *path)
{
    SCOPED(buf) text = BUF_INIT, rules = BUF_INIT;
    if (file_read(path, &text) < 0)
        return -1;
    SCOPED_JS root = js_parse(text.data, text.len, path);
    if (!root)
        return -1;
    js_print(&rules, js_get(root, "normalizer"));
    js_print(&rules, js_get(root, "pre_tokenizer"));
    if (!c->tokenizer.len) {
        buf_set(&c->tokenizer, text.data, text.len);
        buf_set(&c->rules, rules.data, rules.len);
    }
    return rules.len == c->rules.len && !memcmp(rules.data, c->rules.data, rules.len)
               ? 0
               : err_set("%s: its normalizer or pre_tokenizer is another than in the sets before "
                         "it: only sets that were made in the same way can be merged",
                         path);
}

static int take_manifest(struct common *c, const struct manifest *m, const char *path, int first)
{
    SCOPED(kv) recipe = KV_INIT;
    for (size_t i = 0; i < m->kv.count; i++) {
        const struct kv_pair *p = &m->kv.pairs[i];
        if (is_recipe(p->key))
            kv_add(&recipe, p->key, p->value);
        else if (!strcmp(p->key, "pg"))
            add_once(&c->pg, p->key, p->value);
        else if (!strcmp(p->key, "set") && !c->blends)
            kv_add(&c->sets, p->key, p->value);
    }
    if (first)
        kv_add_all(&c->recipe, &recipe);
    if ((!first && check_recipe(c, &recipe, path) < 0) || take_numbers(c, m, path) < 0)
        return -1;
    if (!m->tokenizer)
        return 0;
    SCOPED(buf) file = file_beside(path, m->tokenizer);
    return take_tokenizer(c, file.data);
}

/* Appends to `out` the lines of the new manifest, except those of files, sets and programs. */
static void describe(const struct common *c, struct kv *out)
{
    uint64_t length = 0;
    const char *layout = kv_get(&c->recipe, "layout");
    kv_add_all(out, &c->recipe);
    for (int i = 0; i < SUMMED; i++)
        if (c->has[i])
            kv_addf(out, summed[i], "%" PRIu64, c->sums[i]);
    if (!layout || strcmp(layout, "bert-packed") != 0 || !c->has[TOKENS])
        return;
    double rows = (double)c->sums[RECORDS];
    int known = kv_get_u64(&c->recipe, "sequence_length", &length) == 0 && length && rows > 0;
    kv_addf(out, "efficiency", "%.4f",
            known ? (double)c->sums[TOKENS] / (rows * (double)length) : 0);
    kv_addf(out, "packing_factor", "%.4f", known ? (double)c->sums[SEQUENCES] / rows : 0);
}

/* ---- folders --------------------------------------------------------------------------------- */

/* Reads the records of a set in the order of its shards. */
struct reader {
    struct manifest set;
    struct buf dir, path;    /* path: of the open file */
    size_t next;             /* the file of the manifest to open next */
    int open;                /* 1: `file` is open; the next three are about it */
    struct record_file file; /* its next record is record `record` at offset `at` */
    uint64_t at, record, records;
};

/* The writing of one part of the new set. */
struct joining {
    const struct merge_sets *m;
    struct shard_set set;
    uint64_t records; /* number of records of the new part */
    uint64_t written; /* number of records written so far */
    uint32_t next;    /* the shard to be opened */
    int open;
    struct record_shard shard;
    struct kv files;
    struct reader *readers; /* of each set */
};

static int close_shard(struct joining *j)
{
    if (!j->open)
        return 0;
    int result = record_shard_close(&j->shard, &j->files);
    record_shard_release(&j->shard);
    j->open = 0;
    return result;
}

static void close_file(struct reader *r)
{
    if (r->open)
        record_file_close(&r->file);
    r->open = 0;
}

/* Opens the next file of the set. Returns 1, 0 if there is none, or -1 with an error. */
static int open_file(struct reader *r)
{
    if (r->next < r->set.count && r->set.shards[r->next].name == r->set.tokenizer)
        r->next++;
    if (r->next == r->set.count)
        return 0;
    buf_release(&r->path);
    r->path = file_path(r->dir.data, r->set.shards[r->next].name);
    if (record_file_open(&r->file, r->path.data) < 0)
        return -1;
    r->records = r->set.shards[r->next++].records;
    r->record = r->at = 0;
    return r->open = 1;
}

/* Sets *record to the next record of the set. Returns 1, 0 at the end of the set, or -1 with an
 * error. */
static int next_record(struct reader *r, struct record *record)
{
    int got = 0;
    while (r->open || (got = open_file(r)) > 0) {
        got = record_read(&r->file.records, r->at, record);
        if (got < 0)
            return record_where(r->path.data, r->record, r->at);
        if ((got > 0) != (r->record < r->records))
            return err_set("%s: its manifest says %" PRIu64 " records, but it has %s", r->path.data,
                           r->records, got ? "more" : "fewer");
        if (got)
            break;
        close_file(r);
    }
    if (got > 0) {
        r->record++;
        r->at = record_end(record);
    }
    return got;
}

/* Copies the next record of a set. Returns 1, 0 at the end of the set, or -1 with an error. */
static int copy_record(struct joining *j, struct reader *r)
{
    struct record record;
    int got = next_record(r, &record);
    if (got <= 0)
        return got;
    const uint64_t bytes = record_end(&record) - record.offset;
    /* shard k has records [kR/N, (k+1)R/N) */
    if (j->next < j->set.count && j->written >= j->records * j->next / j->set.count) {
        if (close_shard(j) < 0)
            return -1;
        j->open = 1;
        if (record_shard_open(&j->shard, &j->set, j->next++) < 0)
            return -1;
    }
    if (record_shard_put_frame(&j->shard, r->file.records.data + record.offset, bytes) < 0)
        return -1;
    progress_to(++j->written);
    return 1;
}

/* Copies the records of all sets, one set after the other. Returns 0, or -1 with an error. */
static int copy_sets(struct joining *j, int count)
{
    int got = 0;
    for (int i = 0; i < count && got >= 0; i++)
        while ((got = copy_record(j, &j->readers[i])) > 0)
            ;
    return got;
}

/* Copies records in the order of the blend. A set that ends begins again. */
static int copy_blend(struct joining *j)
{
    for (uint64_t k = 0; k < j->records; k++) {
        size_t i;
        uint64_t sample;
        blend_find(j->m->blend, k, &i, &sample);
        int got = copy_record(j, &j->readers[i]);
        if (!got) {
            j->readers[i].next = 0;
            got = copy_record(j, &j->readers[i]);
        }
        if (got <= 0)
            return got < 0 ? -1 : err_set("%s: has no records", j->readers[i].dir.data);
    }
    return 0;
}

static void close_readers(struct reader *readers, int count)
{
    for (int i = 0; i < count; i++) {
        close_file(&readers[i]);
        manifest_release(&readers[i].set);
        buf_release(&readers[i].dir);
        buf_release(&readers[i].path);
    }
    free(readers);
}

/* Opens the readers of all sets, or of their part `folder` ("" or "validation"), and takes what
 * their manifests say. */
static int open_readers(struct reader **readers, struct common *c, char *const *dirs, int count,
                        const char *folder)
{
    *readers = mem_zalloc((size_t)count, sizeof **readers);
    for (int i = 0; i < count; i++)
        (*readers)[i] = (struct reader){ .dir = BUF_INIT, .path = BUF_INIT };
    for (int i = 0; i < count; i++) {
        struct reader *r = &(*readers)[i];
        r->dir = file_path(dirs[i], folder);
        if (!*folder)
            buf_truncate(&r->dir, strlen(dirs[i]));
        r->path = file_path(r->dir.data, "manifest");
        const int there = manifest_load(&r->set, r->path.data);
        if (!there)
            err_set("%s: has no manifest, so it is not a finished data set", r->dir.data);
        if (there <= 0 || manifest_check_sizes(&r->set, r->dir.data) < 0 ||
            take_manifest(c, &r->set, r->path.data, !i) < 0)
            return -1;
    }
    return 0;
}

static int take_compression(const struct common *c, enum compression *how)
{
    const char *said = kv_get(&c->recipe, "compression");
    for (int i = COMPRESS_NONE; i <= COMPRESS_ZSTD; i++) {
        *how = (enum compression)i;
        if (!strcmp(said ? said : compress_name(COMPRESS_NONE), compress_name(*how)))
            return 0;
    }
    return err_set("compression=%s is not known", said);
}

static int write_set_manifest(const struct joining *j, const struct common *c, const char *folder)
{
    SCOPED(kv) kv = KV_INIT;
    describe(c, &kv);
    kv_add_all(&kv, &j->files);
    SCOPED(buf) path = file_path(j->set.dir, "manifest");
    int result = *folder ? 0
                         : manifest_add_tokenizer(&kv, j->set.dir, "tokenizer.json", &c->tokenizer);
    kv_add_all(&kv, &c->sets);
    kv_add_all(&kv, &c->pg);
    kv_add(&kv, "pg", j->m->provenance);
    return result < 0 ? -1 : manifest_write(&kv, path.data);
}

/* Replaces the sums in *c by the numbers of the blend, which do not follow from those of its
 * sources, and the sets' lines by source= lines with their weights. */
static void take_blend(struct common *c, const struct merge_sets *m)
{
    struct kv sources = KV_INIT;
    for (int i = 0; i < SUMMED; i++)
        c->has[i] = i == RECORDS;
    c->sums[RECORDS] = m->samples;
    for (size_t i = 0; i < c->sets.count; i++)
        kv_addf(&sources, "source", "weight=%.10g taken=%" PRIu64 " %s", m->blend->weights[i],
                m->taken[i], c->sets.pairs[i].value);
    kv_release(&c->sets);
    c->sets = sources;
}

/* Writes a part of the new set into the work folder. Returns 0, or -1 with an error. */
static int join_part(const struct merge_sets *m, struct reader *readers, const struct common *c,
                     const char *work, const char *folder, int count)
{
    struct joining j = {
        .m = m, .files = KV_INIT, .records = c->sums[RECORDS], .readers = readers
    };
    SCOPED(buf) dir = file_path(work, folder);
    j.set.dir = dir.data;
    j.set.count = m->shards < j.records ? m->shards : (uint32_t)j.records;
    int result = take_compression(c, &j.set.compression) < 0 || file_mkdirs(dir.data) < 0 ? -1 : 0;
    progress_begin("record(s)", j.records);
    if (!result)
        result = c->blends ? copy_blend(&j) : copy_sets(&j, count);
    progress_end();
    if (!result)
        result = close_shard(&j) < 0 ? -1 : write_set_manifest(&j, c, folder);
    if (j.open)
        record_shard_release(&j.shard);
    kv_release(&j.files);
    return result;
}

/* Joins a part of all sets. Sets *records to the number of records of the new part, and *two to 1
 * if the sets have a validation part. Returns 0, or -1 with an error. */
static int join(const struct merge_sets *m, const char *work, const char *folder, char *const *dirs,
                int count, uint64_t *records, int *two)
{
    SCOPED(common) c = COMMON_INIT(m->blend && !*folder);
    struct reader *readers;
    int result = open_readers(&readers, &c, dirs, count, folder);
    *two = kv_get(&c.recipe, "validation") != NULL;
    if (!result && c.blends)
        take_blend(&c, m);
    if (!result)
        result = join_part(m, readers, &c, work, folder, count);
    *records = c.sums[RECORDS];
    close_readers(readers, count);
    return result;
}

int merge_sets_folders(const struct merge_sets *m, char *const *dirs, int count, uint64_t *records)
{
    struct stage stage;
    uint64_t held;
    int two = 0, of_part;
    if (stage_open(&stage, m->output, STAGE_SHARDS, 0) < 0)
        return -1;
    int result = shard_folder_check(m->output, m->force);
    if (!result)
        result = join(m, stage.work, "", dirs, count, records, &two);
    if (!result && two)
        result = join(m, stage.work, "validation", dirs, count, &held, &of_part);
    if (!result)
        result = shard_folder_publish(&stage, two);
    stage_close(&stage, result < 0);
    return result;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Adds the numbers in the manifest of a pair to the sums. A pair of another program has no
 * manifest; its numbers come from its index. `first` 1: this is the first pair. */
static int take_pair(struct common *c, const struct megatron *p, int first)
{
    SCOPED(manifest) m = { 0 };
    SCOPED(buf) path = buf_format("%s.manifest", p->prefix);
    const int there = manifest_load(&m, path.data);
    if (!there) {
        kv_add(&m.kv, "layout", "megatron");
        kv_addf(&m.kv, "documents", "%" PRIu64, p->documents);
        kv_addf(&m.kv, "tokens", "%" PRIu64, p->tokens);
        kv_addf(&m.kv, "records", "%" PRIu64, p->sequences);
    }
    return there < 0 ? -1 : take_manifest(c, &m, path.data, first);
}

static int copy_pair(struct megatron_writer *w, const struct megatron *p)
{
    uint64_t next = 1;
    for (uint64_t i = 0; i < p->sequences; i++) {
        uint64_t first;
        uint32_t n = megatron_sequence(p, i, &first);
        for (; next <= p->documents && megatron_document(p, next) <= i; next++)
            megatron_end_document(w);
        if (megatron_add_raw(w, p->bin.data + first * (uint64_t)p->width, n) < 0)
            return -1;
        progress_to(w->sequences);
    }
    for (; next <= p->documents; next++)
        megatron_end_document(w);
    return 0;
}

static int join_pair(struct megatron_writer *w, struct common *c, const struct pair_files *files,
                     const char *path, int first)
{
    SCOPED(buf) prefix = BUF_INIT;
    SCOPED_BY(megatron_close) struct megatron p = { 0 };
    const int is_pair = megatron_prefix(&prefix, path);
    if (!is_pair)
        return err_set("'%s' is not a Megatron pair, as the first one is", path);
    if (is_pair < 0 || megatron_open(&p, prefix.data) < 0)
        return -1;
    if (p.modes)
        return err_set("%s.idx: has modes of multimodal data, which merge does not copy", p.prefix);
    if (take_pair(c, &p, first) < 0 ||
        (first ? megatron_create_as(w, files->stage.work, files->name, &p)
               : megatron_check_type(w, &p)) < 0)
        return -1;
    return copy_pair(w, &p);
}

static int publish_pair(struct megatron_writer *w, struct common *c, struct pair_files *files,
                        const char *provenance)
{
    SCOPED(kv) kv = KV_INIT;
    if (megatron_finish(w) < 0)
        return -1;
    describe(c, &kv);
    manifest_add_shard(&kv, &w->bin);
    manifest_add_shard(&kv, &w->idx);
    kv_add(&c->pg, "pg", provenance);
    kv_add_all(&c->sets, &c->pg);
    return pair_files_publish(files, &kv, &c->tokenizer, &c->sets);
}

int merge_sets_pairs(const struct merge_sets *m, char *const *paths, int count, uint64_t *records)
{
    SCOPED_BY(megatron_release) struct megatron_writer w = { .bytes = BUF_INIT };
    SCOPED(common) c = COMMON_INIT(0);
    struct pair_files files;
    int result = 0;
    if (pair_files_open(&files, m->output, m->may_replace) < 0)
        return -1;
    progress_begin("sequence(s)", 0);
    for (int i = 0; i < count && !result; i++)
        result = join_pair(&w, &c, &files, paths[i], !i);
    progress_end();
    if (!result)
        result = publish_pair(&w, &c, &files, m->provenance);
    *records = w.sequences;
    stage_close(&files.stage, result < 0);
    return result;
}
