#include "tfrecord/formats/manifest.h"

#include "common/base/crc32c.h"
#include "common/files/nameset.h"

/* The first line; the last one of version 2 is SUM and 8 digits. */
static const char KIND[] = "textmill=shards 2\n", OLD_KIND[] = "textmill=shards 1\n";
static const char SUM[] = "crc32c=";
enum { SUM_BYTES = 7 + 8 + 1 };
static const char SHARD[] = "shard", TOKENIZER[] = "tokenizer";

/* ---- reading ------------------------------------------------------------------------------ */

void manifest_release(struct manifest *m)
{
    for (size_t i = 0; i < m->count; i++)
        free(m->shards[i].name);
    free(m->shards);
    nameset_free(m->places);
    kv_release(&m->kv);
    free(m->path);
    *m = (struct manifest){ 0 };
}

/* Returns the length of the name that begins a shard line. Names may contain spaces. */
static size_t name_length(const char *line)
{
    const char *end = NULL;
    for (const char *p = line; (p = strstr(p, " records=")); p++)
        end = p;
    return end ? (size_t)(end - line) : 0;
}

/* Returns 1 if the name is that of a file in the manifest's own folder, not a path to another
 * folder, else 0. */
static int is_plain(const char *name, size_t n)
{
    return n && !memchr(name, '/', n) && strncmp(name, "..", n) != 0;
}

static int add_shard(struct manifest *m, const char *key, const char *line)
{
    struct manifest_shard s = { 0 };
    size_t n = name_length(line);
    int end = -1;
    if (!is_plain(line, n) ||
        sscanf(line + n, " records=%" SCNu64 " bytes=%" SCNu64 " crc32c=%8" SCNx32 "%n", &s.records,
               &s.bytes, &s.crc, &end) != 3 ||
        line[n + (size_t)end])
        return err_set("'%s=%s' has a wrong form", key, line);
    s.name = mem_strndup(line, n);
    *(size_t *)nameset_put(m->places, line, n) = m->count;
    mem_next(m->shards, m->count, m->cap) = s;
    return 0;
}

static void print_sum(char line[SUM_BYTES + 1], const struct buf *text, size_t n)
{
    snprintf(line, SUM_BYTES + 1, "%s%08" PRIx32 "\n", SUM, crc32c(0, text->data, n));
}

/* Checks the first and the last line. Sets [*begin, *end) to the text between them. */
static int check_frame(const struct buf *text, size_t *begin, size_t *end)
{
    char sum[SUM_BYTES + 1];
    *begin = sizeof KIND - 1;
    *end = text->len;
    if (bytes_begin(text->data, text->len, OLD_KIND))
        return 0;
    if (!bytes_begin(text->data, text->len, KIND))
        return err_set("it does not begin with textmill=shards 2");
    if (text->len < *begin + SUM_BYTES)
        return err_set("it is cut short");
    *end -= SUM_BYTES;
    print_sum(sum, text, *end);
    return memcmp(text->data + *end, sum, SUM_BYTES)
               ? err_set("its checksum is wrong: it was changed or damaged")
               : 0;
}

static int parse(struct manifest *m, const struct buf *text)
{
    size_t begin, end;
    if (check_frame(text, &begin, &end) < 0 ||
        kv_parse(&m->kv, text->data + begin, end - begin) < 0)
        return -1;
    if (kv_get(&m->kv, "crc32c"))
        return err_set("version 1 has no checksum");
    for (size_t i = 0; i < m->kv.count; i++) {
        int is_tokenizer = !strcmp(m->kv.pairs[i].key, TOKENIZER);
        if (!is_tokenizer && strcmp(m->kv.pairs[i].key, SHARD))
            continue;
        if (add_shard(m, m->kv.pairs[i].key, m->kv.pairs[i].value) < 0)
            return -1;
        if (is_tokenizer)
            m->tokenizer = m->shards[m->count - 1].name;
    }
    if (kv_get_u64(&m->kv, "records", &m->records) < 0 ||
        (kv_get(&m->kv, "vocabulary") && kv_get_u64(&m->kv, "vocabulary", &m->vocabulary) < 0))
        return -1;
    const char *checksum = kv_get(&m->kv, "checksum");
    m->checksum = checksum ? strtoull(checksum, NULL, 16) : 0;
    return 0;
}

int manifest_load(struct manifest *m, const char *path)
{
    *m = (struct manifest){ .kv = KV_INIT };
    const int there = file_look(path);
    if (there <= 0)
        return there;
    SCOPED(buf) text = BUF_INIT;
    m->places = nameset_new(sizeof(size_t));
    int result = file_read(path, &text);
    if (!result && parse(m, &text) < 0)
        result = err_in("%s: not a manifest of shards", path);
    if (result < 0)
        manifest_release(m);
    return result < 0 ? -1 : 1;
}

int manifest_load_beside(struct manifest *m, const char *path)
{
    SCOPED(buf) file = file_beside(path, "manifest");
    if (m->path && !strcmp(m->path, file.data))
        return 1;
    manifest_release(m);
    const int there = manifest_load(m, file.data);
    if (there > 0)
        m->path = buf_detach(&file);
    return there;
}

const struct manifest_shard *manifest_find(const struct manifest *m, const char *name)
{
    const size_t *place = m->places ? nameset_get(m->places, name, strlen(name)) : NULL;
    return place ? &m->shards[*place] : NULL;
}

int manifest_check_names(const struct manifest *m, const char *dir, const struct file_names *files)
{
    for (size_t i = 0; i < m->count; i++) {
        SCOPED(buf) path = file_path(dir, m->shards[i].name);
        const int there = file_look(path.data);
        if (there <= 0)
            return there < 0 ? -1 : err_set("%s: missing, but its manifest lists it", path.data);
    }
    for (size_t i = 0; i < files->count; i++)
        if (!manifest_find(m, files->names[i]))
            return err_set("%s/%s: not in the folder's manifest", dir, files->names[i]);
    return 0;
}

int manifest_check_sizes(const struct manifest *m, const char *dir)
{
    for (size_t i = 0; i < m->count; i++) {
        uint64_t bytes;
        SCOPED(buf) path = file_path(dir, m->shards[i].name);
        if (file_size(path.data, &bytes) < 0)
            return -1;
        if (bytes != m->shards[i].bytes)
            return err_set("%s: has %" PRIu64 " bytes, but its manifest says %" PRIu64, path.data,
                           bytes, m->shards[i].bytes);
    }
    return 0;
}

/* ---- writing ------------------------------------------------------------------------------ */

int shard_open(struct shard *s, const char *dir, const char *name)
{
    SCOPED(buf) path = file_path(dir, name);
    *s = (struct shard){ 0 };
    if (output_open(&s->out, path.data) < 0)
        return -1;
    s->name = mem_strdup(name);
    return 0;
}

int shard_resume(struct shard *s, const char *dir, const char *name, uint64_t records,
                 uint64_t bytes, uint32_t crc)
{
    SCOPED(buf) path = file_path(dir, name);
    *s = (struct shard){ .records = records, .bytes = bytes, .crc = crc };
    int result = output_resume(&s->out, path.data, bytes);
    if (!result)
        s->name = mem_strdup(name);
    return result;
}

int shard_write(struct shard *s, const void *bytes, size_t n)
{
    s->crc = crc32c(s->crc, bytes, n);
    s->bytes += n;
    return output_write(&s->out, bytes, n);
}

int shard_close(struct shard *s)
{
    return output_close(&s->out);
}

void shard_release(struct shard *s)
{
    output_abandon(&s->out);
    free(s->name);
    *s = (struct shard){ 0 };
}

static void add_line(struct kv *kv, const char *key, const struct shard *s)
{
    SCOPED(buf) line = buf_format("%s records=%" PRIu64 " bytes=%" PRIu64 " crc32c=%08" PRIx32,
                                  s->name, s->records, s->bytes, s->crc);
    kv_add(kv, key, line.data);
}

void manifest_add_shard(struct kv *kv, const struct shard *s)
{
    add_line(kv, SHARD, s);
}

int manifest_add_tokenizer(struct kv *kv, const char *dir, const char *name, const struct buf *text)
{
    SCOPED(shard) s = { 0 };
    if (!text->len)
        return 0;
    if (shard_open(&s, dir, name) < 0 || shard_write(&s, text->data, text->len) < 0 ||
        shard_close(&s) < 0)
        return -1;
    add_line(kv, TOKENIZER, &s);
    return 0;
}

int manifest_write(const struct kv *kv, const char *path)
{
    SCOPED(buf) text = BUF_INIT;
    char sum[SUM_BYTES + 1];
    buf_adds(&text, KIND);
    kv_print(kv, &text);
    print_sum(sum, &text, text.len);
    buf_adds(&text, sum);
    return file_write(path, text.data, text.len);
}
