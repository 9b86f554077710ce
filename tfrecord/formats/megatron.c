#include "tfrecord/formats/megatron.h"

#include "common/base/ids.h"
#include "common/base/le.h"

typedef unsigned long long ull;

enum { HEAD_BYTES = 34, MAGIC_BYTES = 9, DTYPE_I32 = 4, DTYPE_U16 = 8 };
static const uint64_t NO_BIN = UINT64_MAX; /* value for the length of .bin: not known */
enum { U16_VOCABULARY = 65500 };           /* Megatron's own bound */

static const char MAGIC[MAGIC_BYTES] = "MMIDIDX\0";
static const char LEGACY[] = "TNTIDX\0"; /* fairseq's format, of Megatron-LM before 2.0 */

static const struct {
    int width;
    const char *name; /* NULL: no ids */
} dtypes[] = { { 0, NULL },  { 1, "u8" }, { 1, "i8" }, { 2, "i16" }, { 4, "i32" },
               { 8, "i64" }, { 8, NULL }, { 4, NULL }, { 2, "u16" } };

int megatron_prefix(struct buf *prefix, const char *path)
{
    size_t n = strlen(path);
    buf_clear(prefix);
    if (n > 4 && (file_ends_with(path, ".idx") || file_ends_with(path, ".bin"))) {
        buf_add(prefix, path, n - 4);
        return 1;
    }
    buf_addf(prefix, "%s.idx", path);
    const int kind = file_look(prefix->data);
    buf_truncate(prefix, n);
    return kind < 0 ? -1 : kind != FILE_NONE && kind != FILE_FOLDER;
}

/* ---- reading ------------------------------------------------------------------------------ */

uint32_t megatron_sequence(const struct megatron *m, uint64_t i, uint64_t *first)
{
    *first = le_u64(m->pointers + 8 * i) / (uint64_t)m->width;
    return le_u32(m->sizes + 4 * i);
}

uint64_t megatron_document(const struct megatron *m, uint64_t i)
{
    return le_u64(m->document_index + 8 * i);
}

static int check_head(struct megatron *m)
{
    const unsigned char *p = m->idx.data;
    uint64_t bytes = m->idx.bytes;
    if (bytes >= sizeof LEGACY && !memcmp(p, LEGACY, sizeof LEGACY))
        return err_set("legacy TNTIDX index: make the data again with Megatron-LM 2.0 or later");
    if (bytes < MAGIC_BYTES || memcmp(p, MAGIC, MAGIC_BYTES))
        return err_set("not a Megatron index: it does not begin with MMIDIDX");
    if (bytes < HEAD_BYTES)
        return err_set("cut short: it has %llu of the %d bytes of its header", (ull)bytes,
                       HEAD_BYTES);
    if (le_u64(p + 9) != 1)
        return err_set("it has version %llu at byte 9; only version 1 is known",
                       (ull)le_u64(p + 9));
    m->dtype = p[17];
    if (m->dtype >= (int)(sizeof dtypes / sizeof *dtypes) || !dtypes[m->dtype].name)
        return err_set("dtype code %d at byte 17 is not a known type of token ids", m->dtype);
    m->width = dtypes[m->dtype].width;
    m->sequences = le_u64(p + 18);
    uint64_t entries = le_u64(p + 26), body = bytes - HEAD_BYTES;
    if (m->sequences > body / 12 || !entries || entries > (body - 12 * m->sequences) / 8)
        return err_set("cut short: %llu sequences and %llu document entries do not fit %llu bytes",
                       (ull)m->sequences, (ull)entries, (ull)bytes);
    uint64_t rest = body - 12 * m->sequences - 8 * entries;
    if (rest && rest != m->sequences) /* modes */
        return err_set("%llu bytes too many after the document index", (ull)rest);
    m->modes = rest > 0;
    m->documents = entries - 1;
    m->sizes = p + HEAD_BYTES;
    m->pointers = m->sizes + 4 * m->sequences;
    m->document_index = m->pointers + 8 * m->sequences;
    return 0;
}

static int check_sequences(struct megatron *m, uint64_t bytes)
{
    uint64_t at = 0;
    for (uint64_t i = 0; i < m->sequences; i++) {
        int32_t size = (int32_t)le_u32(m->sizes + 4 * i);
        uint64_t pointer = le_u64(m->pointers + 8 * i);
        if (size < 0)
            return err_set("sequence %llu has size %d", (ull)i, size);
        if (pointer != at)
            return err_set("sequence %llu begins at byte %llu of .bin, not at byte %llu", (ull)i,
                           (ull)pointer, (ull)at);
        if ((uint64_t)size * (uint64_t)m->width > bytes - at)
            return err_set(
                "sequence %llu ends at byte %llu, but .bin has only %llu bytes: cut short", (ull)i,
                (ull)(at + (uint64_t)size * (uint64_t)m->width), (ull)bytes);
        at += (uint64_t)size * (uint64_t)m->width;
    }
    if (at != bytes && bytes != NO_BIN)
        return err_set("sequences end at byte %llu, but .bin has %llu bytes", (ull)at, (ull)bytes);
    m->tokens = at / (uint64_t)m->width;
    return 0;
}

static int check_documents(const struct megatron *m)
{
    uint64_t before = 0;
    for (uint64_t i = 0; i <= m->documents; i++) {
        uint64_t first = le_u64(m->document_index + 8 * i);
        if (first < before || first > m->sequences || (!i && first))
            return err_set("document %llu begins at sequence %llu, after %llu", (ull)i, (ull)first,
                           (ull)before);
        before = first;
    }
    if (before != m->sequences)
        return err_set("documents end at sequence %llu of %llu", (ull)before, (ull)m->sequences);
    return 0;
}

static int open_pair(struct megatron *m, const char *prefix, int with_bin)
{
    *m = (struct megatron){ .prefix = mem_strdup(prefix) };
    SCOPED(buf) path = buf_format("%s.bin", prefix);
    int result = with_bin ? file_map(&m->bin, path.data) : 0;
    buf_setf(&path, "%s.idx", prefix);
    if (!result && with_bin && !file_look(path.data))
        result = err_set("'%s.bin' has no '%s' beside it; train reads 16-bit ids of nanoGPT as "
                         "nanogpt:%s.bin",
                         prefix, path.data, prefix);
    if (!result)
        result = file_map(&m->idx, path.data);
    if (!result)
        result = file_check_pointer(path.data, m->idx.data, m->idx.bytes);
    if (!result && check_head(m) < 0)
        result = err_in("%s", path.data);
    if (!result &&
        (check_sequences(m, with_bin ? m->bin.bytes : NO_BIN) < 0 || check_documents(m) < 0))
        result = err_in("%s.idx", prefix);
    if (result < 0)
        megatron_close(m);
    return result;
}

int megatron_open(struct megatron *m, const char *prefix)
{
    return open_pair(m, prefix, 1);
}

int megatron_open_index(struct megatron *m, const char *prefix)
{
    return open_pair(m, prefix, 0);
}

void megatron_close(struct megatron *m)
{
    file_unmap(&m->idx);
    file_unmap(&m->bin);
    free(m->prefix);
    *m = (struct megatron){ 0 };
}

static int64_t token_at(const unsigned char *p, int dtype)
{
    switch (dtype) {
    case 1: return *p;
    case 2: return (int8_t)*p;
    case 3: return (int16_t)le_u16(p);
    case DTYPE_I32: return (int32_t)le_u32(p);
    case DTYPE_U16: return le_u16(p);
    default: return (int64_t)le_u64(p);
    }
}

int megatron_read(const struct megatron *m, uint64_t first, size_t n, uint32_t *ids)
{
    const unsigned char *p = m->bin.data + first * (uint64_t)m->width;
    if (m->dtype == DTYPE_U16) {
        ids_get(ids, 2, p, n);
        return 0;
    }
    for (size_t i = 0; i < n; i++, p += m->width) {
        int64_t id = token_at(p, m->dtype);
        if (id < 0 || id > UINT32_MAX)
            return err_set("%s.bin: token %llu at byte %llu is %lld", m->prefix, (ull)(first + i),
                           (ull)(p - m->bin.data), (long long)id);
        ids[i] = (uint32_t)id;
    }
    return 0;
}

/* ---- writing ------------------------------------------------------------------------------ */

static int create(struct megatron_writer *w, const char *dir, const char *name, int dtype)
{
    *w = (struct megatron_writer){ .dtype = dtype,
                                   .width = dtypes[dtype].width,
                                   .bytes = BUF_INIT };
    SCOPED(buf) file = buf_format("%s.bin", name);
    if (shard_open(&w->bin, dir, file.data) < 0)
        return -1;
    buf_setf(&file, "%s.idx", name);
    return shard_open(&w->idx, dir, file.data);
}

int megatron_create(struct megatron_writer *w, const char *dir, const char *name,
                    uint64_t vocabulary)
{
    return create(w, dir, name, vocabulary < U16_VOCABULARY ? DTYPE_U16 : DTYPE_I32);
}

int megatron_create_as(struct megatron_writer *w, const char *dir, const char *name,
                       const struct megatron *like)
{
    return create(w, dir, name, like->dtype);
}

int megatron_check_type(const struct megatron_writer *w, const struct megatron *m)
{
    return m->dtype == w->dtype ? 0
                                : err_set("%s.idx: its ids are %s, but %s in the pairs before it",
                                          m->prefix, dtypes[m->dtype].name, dtypes[w->dtype].name);
}

int megatron_add_raw(struct megatron_writer *w, const void *bytes, size_t n)
{
    if (n > INT32_MAX)
        return err_set("sequence of %zu tokens is too long for a Megatron index", n);
    mem_next(w->sizes, w->sequences, w->sizes_cap) = (uint32_t)n;
    return shard_write(&w->bin, bytes, n * (size_t)w->width);
}

int megatron_add(struct megatron_writer *w, const uint32_t *ids, size_t n)
{
    buf_clear(&w->bytes);
    buf_reserve(&w->bytes, n * (size_t)w->width);
    ids_put(w->bytes.data, w->width, ids, n);
    return megatron_add_raw(w, w->bytes.data, n);
}

void megatron_end_document(struct megatron_writer *w)
{
    mem_next(w->documents, w->count, w->documents_cap) = w->sequences;
}

static int put_u64(struct megatron_writer *w, uint64_t v)
{
    char bytes[8];
    le_put_u64(bytes, v);
    return shard_write(&w->idx, bytes, 8);
}

static int put_head(struct megatron_writer *w)
{
    char head[HEAD_BYTES];
    memcpy(head, MAGIC, MAGIC_BYTES);
    le_put_u64(head + 9, 1);
    head[17] = (char)w->dtype;
    le_put_u64(head + 18, w->sequences);
    le_put_u64(head + 26, w->count + 1);
    return shard_write(&w->idx, head, HEAD_BYTES);
}

static int put_index(struct megatron_writer *w)
{
    int result = put_head(w);
    for (size_t i = 0; i < w->sequences && !result; i++) {
        char bytes[4];
        le_put_u32(bytes, w->sizes[i]);
        result = shard_write(&w->idx, bytes, 4);
    }
    for (uint64_t i = 0, at = 0; i < w->sequences && !result; i++) {
        result = put_u64(w, at);
        at += (uint64_t)w->sizes[i] * (uint64_t)w->width;
    }
    if (!result)
        result = put_u64(w, 0);
    for (size_t i = 0; i < w->count && !result; i++)
        result = put_u64(w, w->documents[i]);
    return result;
}

int megatron_finish(struct megatron_writer *w)
{
    w->bin.records = w->idx.records = w->sequences;
    if (put_index(w) < 0 || shard_close(&w->bin) < 0)
        return -1;
    return shard_close(&w->idx);
}

void megatron_release(struct megatron_writer *w)
{
    shard_release(&w->bin);
    shard_release(&w->idx);
    buf_release(&w->bytes);
    free(w->sizes);
    free(w->documents);
    *w = (struct megatron_writer){ .bytes = BUF_INIT };
}
