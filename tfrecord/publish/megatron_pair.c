#include "tfrecord/publish/megatron_pair.h"

#include "common/base/log.h"
#include "common/files/file.h"
#include "common/formats/kv.h"
#include "tfrecord/formats/manifest.h"
#include "tfrecord/formats/megatron.h"

/* ---- the files of any pair ------------------------------------------------------------------- */

static int check_files(const char *prefix, int (*may_replace)(const char *path))
{
    static const char *const endings[] = { ".bin", ".idx", ".tokenizer.json", ".manifest" };
    int result = 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && !result; i++) {
        SCOPED(buf) path = buf_format("%s%s", prefix, endings[i]);
        result = may_replace(path.data);
    }
    return result;
}

int pair_files_open(struct pair_files *p, const char *prefix, int (*may_replace)(const char *path))
{
    const int kind = file_look(prefix);
    *p = (struct pair_files){ prefix, file_name(prefix), { .lock = -1 } };
    if (kind < 0)
        return -1;
    if (!*p->name || kind == FILE_FOLDER)
        return err_usage("--output %s is a folder; the megatron layout needs a prefix, such as %s",
                         prefix, "data/corpus");
    if (strchr(p->name, '\n')) /* the manifest has it in one line */
        return err_set("the name of '%s' has a line feed", prefix);
    SCOPED(buf) dir = file_beside(prefix, "");
    int result = stage_open(&p->stage, dir.len ? dir.data : ".", p->name, 0);
    if (!result && check_files(prefix, may_replace) < 0) {
        stage_close(&p->stage, 1);
        return -1;
    }
    return result;
}

int pair_files_publish(struct pair_files *p, struct kv *kv, const struct buf *tokenizer,
                       const struct kv *pg)
{
    SCOPED(buf) manifest = buf_format("%s.manifest", p->name),
                vocabulary = buf_format("%s.tokenizer.json", p->name),
                path = file_path(p->stage.work, manifest.data),
                index = buf_format("%s.idx", p->prefix);
    int result = manifest_add_tokenizer(kv, p->stage.work, vocabulary.data, tokenizer);
    kv_add_all(kv, pg);
    /* a new index is never beside an old pair's tokens, not even for a moment */
    return result < 0 || manifest_write(kv, path.data) < 0 ||
                   stage_forget(&p->stage, "", manifest.data) < 0 || file_remove(index.data) < 0 ||
                   file_sync_dir(index.data) < 0
               ? -1
               : stage_publish(&p->stage, "", manifest.data);
}

/* ---- the pair of a token stream -------------------------------------------------------------- */

/* Adds a document: one sequence per sentence, or a single one. End-of-text belongs to the last. A
 * document without tokens has no sequence, but counts as a document, so that pairs of several
 * fields of the same records have the same documents. Returns 0, or -1 with an error. */
static int add_document(const struct megatron_pair *p, struct megatron_writer *w, struct intake *s)
{
    size_t begin = 0, n = s->count;
    if (!n) {
        megatron_end_document(w);
        return 0;
    }
    for (size_t i = 0; i < s->sentences; i++) {
        size_t end = s->sentence_ends[i];
        if (end >= n)
            break; /* the last sequence takes the remaining ids */
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

static int publish(const struct megatron_pair *p, struct intake *s, struct megatron_writer *w,
                   struct pair_files *files)
{
    SCOPED(kv) m = KV_INIT, pg = KV_INIT;
    kv_add(&m, "layout", "megatron");
    kv_addf(&m, "documents", "%" PRIu64, s->documents);
    kv_addf(&m, "tokens", "%" PRIu64, w->bin.bytes / (uint64_t)w->width);
    kv_addf(&m, "records", "%zu", w->sequences);
    intake_describe(s, &m);
    manifest_add_shard(&m, &w->bin);
    manifest_add_shard(&m, &w->idx);
    intake_provenance(s, &pg, p->provenance);
    return pair_files_publish(files, &m, &s->stream.tokenizer, &pg);
}

static int write_pair(struct megatron_pair *p, struct intake *s, struct megatron_writer *w)
{
    int result;
    for (; (result = intake_next(s)) > 0; progress_to(s->documents))
        if (add_document(p, w, s) < 0)
            return -1;
    if (!result && !s->tokens)
        result = err_set("%s: no documents%s", s->in.path, s->documents ? " with tokens" : "");
    if (result < 0 || megatron_finish(w) < 0)
        return -1;
    p->sequences = w->sequences;
    return 0;
}

int megatron_pair_write(struct megatron_pair *p, struct intake *s)
{
    SCOPED_BY(megatron_release) struct megatron_writer w = { .bytes = BUF_INIT };
    struct pair_files files;
    s->keeps_empty = 1;
    if ((p->append_eod && intake_want_end_of_text(s, "--append-eod") < 0) ||
        pair_files_open(&files, p->prefix, p->may_replace) < 0)
        return -1;
    int failed = megatron_create(&w, files.stage.work, files.name, s->stream.vocabulary) < 0 ||
                 write_pair(p, s, &w) < 0 || publish(p, s, &w, &files) < 0;
    stage_close(&files.stage, failed);
    return failed ? -1 : 0;
}
