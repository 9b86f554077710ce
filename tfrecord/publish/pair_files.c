#include "tfrecord/publish/pair_files.h"

#include "common/files/file.h"
#include "tfrecord/formats/manifest.h"

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

/* Publishes the files so that a new index is never beside an old pair's tokens, not even for a
 * moment. Returns 0, or -1 with an error. */
static int publish(struct pair_files *p, const char *manifest)
{
    SCOPED(buf) path = buf_format("%s.idx", p->prefix);
    if (stage_forget(&p->stage, "", manifest) < 0 || file_remove(path.data) < 0 ||
        file_sync_dir(path.data) < 0)
        return -1;
    return stage_publish(&p->stage, "", manifest);
}

int pair_files_publish(struct pair_files *p, struct kv *kv, const struct buf *tokenizer,
                       const struct kv *pg)
{
    SCOPED(buf) manifest = buf_format("%s.manifest", p->name),
                vocabulary = buf_format("%s.tokenizer.json", p->name),
                path = file_path(p->stage.work, manifest.data);
    int result = manifest_add_tokenizer(kv, p->stage.work, vocabulary.data, tokenizer);
    kv_add_all(kv, pg);
    return result < 0 || manifest_write(kv, path.data) < 0 ? -1 : publish(p, manifest.data);
}
