#include "tfrecord/publish/megatron_pair.h"

#include <inttypes.h>
#include <string.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/file.h"
#include "common/kv.h"
#include "tfrecord/formats/manifest.h"
#include "tfrecord/formats/megatron.h"
#include "tfrecord/publish/stage.h"

/* One sequence a sentence, or one a document; end-of-text belongs to the last. */
static int add_document(const struct megatron_pair *p, struct megatron_writer *w, struct intake *s)
{
    size_t begin = 0, n = s->count;
    for (size_t i = 0; i < s->sentences; i++) {
        size_t end = s->sentence_ends[i];
        if (end >= n)
            break; /* the last one takes what is left */
        if (end > begin && megatron_add(w, s->ids + begin, end - begin) < 0)
            return -1;
        begin = end;
    }
    if (p->append_eod)
        s->ids[n++] = (uint32_t)s->end_of_text;
    if (megatron_add(w, s->ids + begin, n - begin) < 0)
        return -1;
    megatron_end_document(w);
    return 0;
}

static int write_manifest(const struct megatron_pair *p, struct intake *s,
                          struct megatron_writer *w, const char *dir, const char *name)
{
    struct kv m = KV_INIT;
    struct buf path = BUF_INIT, tokenizer = BUF_INIT;
    kv_add(&m, "layout", "megatron");
    kv_addf(&m, "documents", "%" PRIu64, s->documents);
    kv_addf(&m, "tokens", "%" PRIu64, w->bin.bytes / (uint64_t)w->width);
    kv_addf(&m, "records", "%zu", w->sequences);
    intake_describe(s, &m);
    manifest_add_shard(&m, &w->bin);
    manifest_add_shard(&m, &w->idx);
    buf_addf(&tokenizer, "%s.tokenizer.json", name);
    int result = manifest_add_tokenizer(&m, dir, tokenizer.data, &s->stream.tokenizer);
    intake_provenance(s, &m, p->provenance);
    buf_addf(&path, "%s/%s.manifest", dir, name);
    if (!result)
        result = manifest_write(&m, path.data);
    buf_release(&path);
    buf_release(&tokenizer);
    kv_release(&m);
    return result;
}

static int write_pair(struct megatron_pair *p, struct intake *s, struct megatron_writer *w,
                      const char *dir, const char *name)
{
    int result;
    for (; (result = intake_next(s)) > 0; p->written(s->documents))
        if (add_document(p, w, s) < 0)
            return -1;
    if (!result && !s->documents)
        result = err_set("%s: no documents", s->in.path);
    if (result < 0 || megatron_finish(w) < 0)
        return -1;
    p->sequences = w->sequences;
    return write_manifest(p, s, w, dir, name);
}

/* Whether nothing that must stay is in the way of the pair's files. */
static int check_files(const struct megatron_pair *p)
{
    static const char *const endings[] = { ".bin", ".idx", ".tokenizer.json", ".manifest" };
    struct buf path = BUF_INIT;
    int result = 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && !result; i++) {
        buf_clear(&path);
        buf_addf(&path, "%s%s", p->prefix, endings[i]);
        result = p->may_replace(path.data);
    }
    buf_release(&path);
    return result;
}

/* An index by itself must not stand beside another's tokens, not for a moment. */
static int publish(struct stage *stage, const char *prefix, const char *manifest)
{
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s.idx", prefix);
    int result = stage_forget(stage->dir, manifest);
    if (!result)
        result = file_remove_tree(path.data);
    if (!result)
        result = stage_publish(stage, "", manifest);
    buf_release(&path);
    return result;
}

/* In the open stage. */
static int make_pair(struct megatron_pair *p, struct intake *s, struct stage *stage,
                     const char *name)
{
    struct megatron_writer w = { .bytes = BUF_INIT };
    struct buf manifest = BUF_INIT;
    buf_addf(&manifest, "%s.manifest", name);
    int result = check_files(p);
    if (!result)
        result = megatron_create(&w, stage->work, name, s->stream.vocabulary);
    if (!result)
        result = write_pair(p, s, &w, stage->work, name);
    if (!result)
        result = publish(stage, p->prefix, manifest.data);
    megatron_release(&w);
    buf_release(&manifest);
    return result;
}

int megatron_pair_write(struct megatron_pair *p, struct intake *s)
{
    const char *slash = strrchr(p->prefix, '/'), *name = slash ? slash + 1 : p->prefix;
    struct buf dir = BUF_INIT;
    struct stage stage;
    enum file_kind kind;
    if (file_look(p->prefix, &kind) < 0)
        return -1;
    if (!*name || kind == FILE_FOLDER)
        return err_usage("--output %s is a folder; the megatron layout needs a prefix, such as %s",
                         p->prefix, "data/corpus");
    if (p->append_eod && intake_want_end_of_text(s, "--append-eod") < 0)
        return -1;
    buf_add(&dir, p->prefix, (size_t)(name - p->prefix));
    int result = stage_open(&stage, dir.len ? dir.data : ".", name);
    if (!result) {
        result = make_pair(p, s, &stage, name);
        stage_close(&stage, result < 0);
    }
    buf_release(&dir);
    return result;
}
