#include "common/formats/gguf.h"

#include "common/base/le.h"

/* ---- types of tensors --------------------------------------------------------------------- */

#define KIND(name, number, numbers, bytes) { number, numbers, bytes, #name },

static const struct kind {
    uint32_t type;
    int numbers, bytes;
    const char *name;
} kinds[] = { GGUF_TENSORS(KIND) };
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char sum_key[] = "textmill.crc32c";

static const struct kind *kind_of(uint32_t type)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].type == type)
            return &kinds[i];
    return NULL;
}

/* ---- parsing ------------------------------------------------------------------------------ */

/* The parser's position. */
struct place {
    const struct gguf *g;
    uint64_t at;
};

/* Returns the next n bytes and moves p past them; NULL with an error if the file is shorter. */
static const unsigned char *take(struct place *p, uint64_t n)
{
    if (n > p->g->map.bytes - p->at) {
        err_set("%s: truncated: %llu bytes are wanted at byte %llu of %llu", p->g->path,
                (unsigned long long)n, (unsigned long long)p->at,
                (unsigned long long)p->g->map.bytes);
        return NULL;
    }
    const unsigned char *bytes = p->g->map.data + p->at;
    p->at += n;
    return bytes;
}

static int take_u32(struct place *p, uint32_t *x)
{
    const unsigned char *bytes = take(p, 4);
    *x = bytes ? le_u32(bytes) : 0;
    return bytes ? 0 : -1;
}

static int take_u64(struct place *p, uint64_t *x)
{
    const unsigned char *bytes = take(p, 8);
    *x = bytes ? le_u64(bytes) : 0;
    return bytes ? 0 : -1;
}

static int take_text(struct place *p, const char **s, uint64_t *n)
{
    if (take_u64(p, n) < 0)
        return -1;
    *s = (const char *)take(p, *n);
    return *s ? 0 : -1;
}

static const unsigned char form_bytes[GGUF_FORMS] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

static int bad_form(const struct place *p, uint32_t form)
{
    return err_set("%s: bad type %u of a value, at byte %llu", p->g->path, form,
                   (unsigned long long)p->at);
}

static int take_list(struct place *p, struct gguf_key *k)
{
    uint32_t form;
    const char *s;
    uint64_t n;
    if (take_u32(p, &form) < 0 || take_u64(p, &k->count) < 0)
        return -1;
    if (form >= GGUF_FORMS || form == GGUF_LIST)
        return bad_form(p, form);
    k->items = (enum gguf_form)form;
    k->value = p->g->map.data + p->at;
    if (form != GGUF_TEXT)
        return k->count <= p->g->map.bytes && take(p, k->count * form_bytes[form])
                   ? 0
                   : err_set("%s: truncated: a list of %llu items at byte %llu", p->g->path,
                             (unsigned long long)k->count, (unsigned long long)p->at);
    for (uint64_t i = 0; i < k->count; i++)
        if (take_text(p, &s, &n) < 0)
            return -1;
    return 0;
}

static int take_key(struct place *p, struct gguf_key *k)
{
    uint32_t form;
    uint64_t n;
    if (take_text(p, &k->name, &n) < 0 || take_u32(p, &form) < 0)
        return -1;
    k->n = n;
    k->form = (enum gguf_form)form;
    k->count = 1;
    if (form >= GGUF_FORMS)
        return bad_form(p, form);
    if (form == GGUF_LIST)
        return take_list(p, k);
    const char *s = NULL;
    if (form == GGUF_TEXT) {
        if (take_text(p, &s, &k->count) < 0)
            return -1;
        k->value = (const unsigned char *)s;
        return 0;
    }
    k->value = take(p, form_bytes[form]);
    return k->value ? 0 : -1;
}

static int take_shape(struct place *p, struct gguf_tensor *t)
{
    uint32_t rank;
    uint64_t size;
    if (take_u32(p, &rank) < 0)
        return -1;
    if (!rank || rank > GGUF_RANK)
        return err_set("%s: bad rank %u of tensor '%s', at byte %llu", p->g->path, rank, t->name,
                       (unsigned long long)p->at);
    t->rank = (int)rank;
    t->elements = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (take_u64(p, &size) < 0)
            return -1;
        t->shape[i] = (int64_t)size;
        if (t->shape[i] < 1 || __builtin_mul_overflow(t->elements, t->shape[i], &t->elements))
            return err_set("%s: bad shape of tensor '%s', at byte %llu", p->g->path, t->name,
                           (unsigned long long)p->at);
    }
    return 0;
}

static int refuse_type(const struct place *p, const struct gguf_tensor *t)
{
    SCOPED(buf) names = BUF_INIT;
    for (int i = 0; i < KINDS; i++)
        buf_addf(&names, "%s%s", i + 1 == KINDS ? " and " : i ? ", " : "", kinds[i].name);
    return err_set("%s: tensor '%s' is of type %u, at byte %llu; only %s are read", p->g->path,
                   t->name, t->type, (unsigned long long)p->at, names.data);
}

static int take_tensor(struct place *p, struct gguf_tensor *t)
{
    const char *name;
    uint64_t n;
    if (take_text(p, &name, &n) < 0)
        return -1;
    t->name = mem_strndup(name, n);
    if (take_shape(p, t) < 0 || take_u32(p, &t->type) < 0 || take_u64(p, &t->offset) < 0)
        return -1;
    const struct kind *k = kind_of(t->type);
    if (!k)
        return refuse_type(p, t);
    if (t->shape[t->rank - 1] % k->numbers)
        return err_set("%s: tensor '%s': row length %lld is not a multiple of %s's block size",
                       p->g->path, t->name, (long long)t->shape[t->rank - 1], k->name);
    if (__builtin_mul_overflow((uint64_t)(t->elements / k->numbers), (uint64_t)k->bytes, &t->bytes))
        return err_set("%s: bad shape of tensor '%s'", p->g->path, t->name);
    return 0;
}

static int alignment(const struct gguf *g, uint64_t *out)
{
    double x = GGUF_ALIGNMENT;
    if (gguf_real(g, "general.alignment", &x) < 0)
        return -1;
    *out = x >= 8 && x <= 1 << 20 ? (uint64_t)x : 0;
    return *out && !(*out & (*out - 1))
               ? 0
               : err_set("%s: bad general.alignment %g: not a power of two from 8 to 1048576",
                         g->path, x);
}

/* Compares tensors by offset, for the check that they do not overlap. */
static int by_offset(const void *a, const void *b)
{
    const struct gguf_tensor *s = *(const struct gguf_tensor *const *)a,
                             *t = *(const struct gguf_tensor *const *)b;
    return s->offset < t->offset ? -1 : s->offset > t->offset;
}

static int check_overlap(const struct gguf *g)
{
    SCOPED_MEM const struct gguf_tensor **sorted = mem_alloc(g->tensor_count * sizeof *sorted);
    int failed = 0;
    for (size_t i = 0; i < g->tensor_count; i++)
        sorted[i] = &g->tensors[i];
    qsort(sorted, g->tensor_count, sizeof *sorted, by_offset);
    for (size_t i = 1; i < g->tensor_count && !failed; i++)
        if (sorted[i]->offset < sorted[i - 1]->offset + sorted[i - 1]->bytes)
            failed = err_set("%s: bad offset of tensor '%s': at byte %llu it overlaps '%s'",
                             g->path, sorted[i]->name, (unsigned long long)sorted[i]->offset,
                             sorted[i - 1]->name);
    return failed;
}

static int check_places(struct gguf *g, uint64_t end)
{
    uint64_t align;
    if (alignment(g, &align) < 0)
        return -1;
    const uint64_t begin = (end + align - 1) / align * align;
    for (size_t i = 0; i < g->tensor_count; i++) {
        struct gguf_tensor *t = &g->tensors[i];
        if (t->offset % align)
            return err_set("%s: bad offset %llu of tensor '%s': not a multiple of %llu", g->path,
                           (unsigned long long)t->offset, t->name, (unsigned long long)align);
        if (begin > g->map.bytes || t->offset > g->map.bytes - begin ||
            t->bytes > g->map.bytes - begin - t->offset)
            return err_set(
                "%s: truncated: tensor '%s' has %llu bytes at byte %llu of the data, but "
                "the file has only %llu bytes",
                g->path, t->name, (unsigned long long)t->bytes, (unsigned long long)t->offset,
                (unsigned long long)g->map.bytes);
        t->offset += begin;
    }
    return g->tensor_count ? check_overlap(g) : 0;
}

static int read_map(struct gguf *g)
{
    struct place p = { g, 0 };
    uint32_t version;
    uint64_t tensors, keys;
    const unsigned char *magic = take(&p, 4);
    if (!magic || memcmp(magic, "GGUF", 4) != 0)
        return err_set("%s: not a GGUF file: it does not begin with 'GGUF'", g->path);
    if (take_u32(&p, &version) < 0 || take_u64(&p, &tensors) < 0 || take_u64(&p, &keys) < 0)
        return -1;
    if (version != 2 && version != 3)
        return err_set("%s: unsupported version %u of GGUF, at byte 4: only 2 and 3", g->path,
                       version);
    for (uint64_t i = 0; i < keys; i++) {
        struct gguf_key k = { 0 };
        if (take_key(&p, &k) < 0)
            return -1;
        mem_next(g->keys, g->key_count, g->key_cap) = k;
    }
    for (uint64_t i = 0; i < tensors; i++) {
        struct gguf_tensor t = { 0 };
        int failed = take_tensor(&p, &t);
        mem_next(g->tensors, g->tensor_count,
                 g->tensor_cap) = t; /* from now on gguf_close frees its name */
        if (failed)
            return -1;
    }
    return check_places(g, p.at);
}

static void release(struct gguf *g)
{
    for (size_t i = 0; i < g->tensor_count; i++)
        free(g->tensors[i].name);
    free(g->tensors);
    free(g->keys);
    free(g->path);
    *g = (struct gguf){ 0 };
}

int gguf_parse(struct gguf *g, const void *bytes, uint64_t n, const char *name)
{
    *g = (struct gguf){ .path = mem_strdup(name), .map = { bytes, n } };
    if (read_map(g) == 0)
        return 0;
    release(g);
    return -1;
}

int gguf_is(const char *path)
{
    return file_ends_with(path, ".gguf");
}

int gguf_open(struct gguf *g, const char *path)
{
    struct file_map map;
    *g = (struct gguf){ 0 };
    if (file_map(&map, path) < 0)
        return -1;
    if (file_check_pointer(path, map.data, map.bytes) == 0 &&
        gguf_parse(g, map.data, map.bytes, path) == 0)
        return 0;
    file_unmap(&map);
    return -1;
}

void gguf_close(struct gguf *g)
{
    if (g->map.data)
        file_unmap(&g->map);
    release(g);
}

/* ---- values ------------------------------------------------------------------------------- */

int gguf_check(const struct gguf *g)
{
    const struct gguf_key *k = gguf_find(g, sum_key);
    if (!k)
        return 0;
    if (k->form != GGUF_TEXT || k->count != FILE_SUM_DIGITS)
        err_set("%s is not a checksum", sum_key);
    else if (file_map_check(&g->map, (uint64_t)(k->value - g->map.data)) == 0)
        return 0;
    return err_in("'%s' is damaged", g->path);
}

const struct gguf_key *gguf_find(const struct gguf *g, const char *name)
{
    for (size_t i = 0; i < g->key_count; i++)
        if (bytes_are(g->keys[i].name, g->keys[i].n, name))
            return &g->keys[i];
    return NULL;
}

static int wrong_form(const struct gguf *g, const struct gguf_key *k, const char *wanted)
{
    return err_set("%s: '%.*s' is no %s, at byte %llu", g->path, (int)k->n, k->name, wanted,
                   (unsigned long long)(k->value - g->map.data));
}

/* Returns the shortest decimal number that rounds to x as f32: 1e-5, not 9.99999975e-6. It is the
 * number that config.json had before the writer of the file rounded it. */
static double shortest(float x)
{
    double y = (double)x;
    char text[32];
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)x);
        y = strtod(text, NULL);
        if ((float)y == x)
            break;
    }
    return y;
}

int gguf_real(const struct gguf *g, const char *name, double *out)
{
    const struct gguf_key *k = gguf_find(g, name);
    const unsigned char *p = k ? k->value : NULL;
    if (!k)
        return 0;
    switch (k->form) {
    case GGUF_U8:
    case GGUF_BOOL: *out = *p; return 0;
    case GGUF_I8: *out = (int8_t)*p; return 0;
    case GGUF_U16: *out = le_u16(p); return 0;
    case GGUF_I16: *out = (int16_t)le_u16(p); return 0;
    case GGUF_U32: *out = le_u32(p); return 0;
    case GGUF_I32: *out = (int32_t)le_u32(p); return 0;
    case GGUF_F32: *out = shortest(le_f32(p)); return 0;
    case GGUF_U64: *out = (double)le_u64(p); return 0;
    case GGUF_I64: *out = (double)(int64_t)le_u64(p); return 0;
    case GGUF_F64: *out = le_f64(p); return 0;
    default: return wrong_form(g, k, "number");
    }
}

int gguf_text(const struct gguf *g, const struct gguf_key *k, struct buf *out)
{
    if (k->form != GGUF_TEXT)
        return wrong_form(g, k, "text");
    buf_add(out, (const char *)k->value, k->count);
    return 0;
}

const char *gguf_item_text(const unsigned char **at, size_t *n)
{
    const char *s = (const char *)*at + 8;
    *n = (size_t)le_u64(*at);
    *at += 8 + *n;
    return s;
}

int32_t gguf_item_i32(const struct gguf_key *k, uint64_t i)
{
    return (int32_t)le_u32(k->value + 4 * i);
}

float gguf_item_f32(const struct gguf_key *k, uint64_t i)
{
    return le_f32(k->value + 4 * i);
}

const struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name)
{
    for (size_t i = 0; i < g->tensor_count; i++)
        if (!strcmp(g->tensors[i].name, name))
            return &g->tensors[i];
    return NULL;
}

/* ---- writing ------------------------------------------------------------------------------ */

void gguf_put_text(struct buf *out, const char *s, size_t n)
{
    le_add_u64(out, n);
    buf_add(out, s, n);
}

void gguf_begin(struct gguf_writer *w)
{
    *w = (struct gguf_writer){ 0 };
    buf_init(&w->keys);
    buf_init(&w->tensors);
}

static void add_key(struct gguf_writer *w, const char *key, enum gguf_form form)
{
    gguf_put_text(&w->keys, key, strlen(key));
    le_add_u32(&w->keys, form);
    w->key_count++;
}

void gguf_add_u32(struct gguf_writer *w, const char *key, uint32_t x)
{
    add_key(w, key, GGUF_U32);
    le_add_u32(&w->keys, x);
}

void gguf_add_f32(struct gguf_writer *w, const char *key, float x)
{
    add_key(w, key, GGUF_F32);
    le_add_f32(&w->keys, x);
}

void gguf_add_bool(struct gguf_writer *w, const char *key, int x)
{
    add_key(w, key, GGUF_BOOL);
    buf_addc(&w->keys, x ? 1 : 0);
}

void gguf_add_text(struct gguf_writer *w, const char *key, const char *s, size_t n)
{
    add_key(w, key, GGUF_TEXT);
    gguf_put_text(&w->keys, s, n);
}

void gguf_add_list(struct gguf_writer *w, const char *key, enum gguf_form form, uint64_t count,
                   const struct buf *items)
{
    add_key(w, key, GGUF_LIST);
    le_add_u32(&w->keys, form);
    le_add_u64(&w->keys, count);
    buf_add(&w->keys, items->data, items->len);
}

static uint64_t aligned(uint64_t n)
{
    return (n + GGUF_ALIGNMENT - 1) / GGUF_ALIGNMENT * GGUF_ALIGNMENT;
}

void gguf_add_tensor(struct gguf_writer *w, const char *name, uint32_t type, int rank,
                     const int64_t *shape)
{
    const struct kind *k = kind_of(type);
    int64_t rows = 1;
    gguf_put_text(&w->tensors, name, strlen(name));
    le_add_u32(&w->tensors, (uint32_t)rank);
    for (int i = rank - 1; i >= 0; i--) {
        le_add_u64(&w->tensors, (uint64_t)shape[i]);
        rows *= i < rank - 1 ? shape[i] : 1;
    }
    le_add_u32(&w->tensors, type);
    le_add_u64(&w->tensors, w->data_bytes);
    w->data_bytes += aligned((uint64_t)(rows * shape[rank - 1] / k->numbers) * (uint64_t)k->bytes);
    w->tensor_count++;
}

int gguf_create(struct gguf_writer *w, const char *path)
{
    SCOPED(buf) head = BUF_INIT;
    if (output_open(&w->out, path) < 0)
        return -1;
    if (w->out.temp)
        gguf_add_text(w, sum_key, "00000000", FILE_SUM_DIGITS);
    buf_adds(&head, "GGUF");
    le_add_u32(&head, 3);
    le_add_u64(&head, w->tensor_count);
    le_add_u64(&head, w->key_count);
    buf_add(&head, w->keys.data, w->keys.len);
    const size_t sum_at = head.len - FILE_SUM_DIGITS;
    buf_add(&head, w->tensors.data, w->tensors.len);
    while (head.len % GGUF_ALIGNMENT)
        buf_addc(&head, 0);
    return w->out.temp ? output_begin_summed(&w->out, head.data, head.len, sum_at)
                       : output_write(&w->out, head.data, head.len);
}

int gguf_write(struct gguf_writer *w, const void *data, uint64_t n)
{
    w->written += n;
    return output_write(&w->out, data, n);
}

int gguf_end_tensor(struct gguf_writer *w)
{
    static const char zeros[GGUF_ALIGNMENT];
    return gguf_write(w, zeros, aligned(w->written) - w->written);
}

static void release_writer(struct gguf_writer *w)
{
    buf_release(&w->keys);
    buf_release(&w->tensors);
}

int gguf_finish(struct gguf_writer *w)
{
    assert(w->out.failed || w->written == w->data_bytes);
    release_writer(w);
    return output_close(&w->out);
}

void gguf_abandon(struct gguf_writer *w)
{
    release_writer(w);
    output_abandon(&w->out);
}
