#include "tfrecord/formats/example.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "common/base/le.h"
#include "common/base/protobuf.h"

/* The scalar wire type of each kind of list, when it is not packed. */
static const enum protobuf_wire scalar_wire[] = { [FEATURE_BYTES] = PROTOBUF_BYTES,
                                                  [FEATURE_FLOATS] = PROTOBUF_32,
                                                  [FEATURE_INTS] = PROTOBUF_VARINT };

/* ---- varints ------------------------------------------------------------------------------ */

/* A varint stores seven bits per byte, low bits first; the eighth bit says that more bytes follow.
 * Eight such bytes fit in a register, and their 56 bits are spread or gathered in three steps. */
static inline uint64_t spread7(uint64_t v)
{
    v = (v & 0x000000000FFFFFFF) | (v & 0x00FFFFFFF0000000) << 4;
    v = (v & 0x00003FFF00003FFF) | (v & 0x0FFFC0000FFFC000) << 2;
    return (v & 0x007F007F007F007F) | (v & 0x3F803F803F803F80) << 1;
}

static inline uint64_t gather7(uint64_t v)
{
    v = (v & 0x007F007F007F007F) | (v & 0x7F007F007F007F00) >> 1;
    v = (v & 0x00003FFF00003FFF) | (v & 0x3FFF00003FFF0000) >> 2;
    return (v & 0x000000000FFFFFFF) | (v & 0x0FFFFFFF00000000) >> 4;
}

/* Reads up to `max` varints of the run [p, end) into values[], and adds their number to *n. Returns
 * the position after them, or NULL if one is malformed. A load of eight bytes usually holds two
 * token ids, so reading two at once saves a branch on their number. */
static const unsigned char *get_varints(const unsigned char *p, const unsigned char *end,
                                        int64_t *values, size_t max, size_t *n)
{
    size_t got = *n;
    while (got < max && p < end) {
        uint64_t x = end - p >= 8 ? le_u64(p) : ~(uint64_t)0;
        uint64_t stops = ~x & 0x8080808080808080u, second = stops & (stops - 1);
        if (stops && second && max - got >= 2) {
            int a = __builtin_ctzll(stops),
                b = __builtin_ctzll(second); /* top bits of last bytes */
            values[got] = (int64_t)gather7(x & (((uint64_t)1 << a) - 1));
            values[got + 1] = (int64_t)gather7(x >> (a + 1) & (((uint64_t)1 << (b - a - 1)) - 1));
            got += 2;
            p += b / 8 + 1;
        } else { /* near the end, or long values */
            uint64_t v;
            p = protobuf_varint(p, end, &v);
            if (!p)
                return NULL;
            values[got++] = (int64_t)v;
        }
    }
    *n = got;
    return p;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* A length precedes the bytes that it counts, so a message is written backwards, from the end of
 * its space to the front. Each function gets the position at which its bytes must end, and returns
 * the position at which they begin. There are always SLACK spare bytes before that position. */
enum { SLACK = 8, HEADS_BYTES = 6 * (1 + PROTOBUF_VARINT_MAX) };

static inline unsigned char *put_varint(unsigned char *p, uint64_t v)
{
    size_t n = protobuf_varint_bytes(v);
    p -= n;
    if (n > 8) {
        for (size_t i = 0; i < n; i++)
            p[i] = (unsigned char)(v >> (7 * i) | (i + 1 < n ? 0x80 : 0));
        return p;
    }
    uint64_t more = 0x8080808080808080u & (((uint64_t)1 << (8 * (n - 1))) - 1);
    le_put_u64(p + n - 8, (spread7(v) | more) << (64 - 8 * n));
    return p;
}

/* Writes two numbers below 2^21, as token ids are, with one store. `a` comes first. */
enum { SHORT_BITS = 21 };

static inline unsigned char *put_short_pair(unsigned char *p, uint64_t a, uint64_t b)
{
    static const uint64_t more[] = { 0, 0, 0x80, 0x8080 };
    /* no branch: ids are random */
    size_t na = protobuf_varint_bytes(a), nb = protobuf_varint_bytes(b), n = na + nb;
    uint64_t both = a | b << 32;
    both = (both & 0x0000007F0000007F) | (both & 0x00003F8000003F80) << 1 |
           (both & 0x001FC000001FC000) << 2;
    uint64_t first = (both & 0xFFFFFF) | more[na], second = both >> 32 | more[nb];
    le_put_u64(p - 8, (first | second << (8 * na)) << (64 - 8 * n));
    return p - n;
}

static unsigned char *put_few(unsigned char *p, const int64_t *values, size_t n)
{
    while (n >= 2) {
        uint64_t a = (uint64_t)values[n - 2], b = (uint64_t)values[n - 1];
        if ((a | b) >> SHORT_BITS)
            p = put_varint(put_varint(p, b), a);
        else
            p = put_short_pair(p, a, b);
        n -= 2;
    }
    return n ? put_varint(p, (uint64_t)values[0]) : p;
}

/* Writes the BLOCK numbers values[], which must be below 2^21, at once before p, if the processor
 * can. Returns the position at which they begin; NULL if a number is greater. */
enum { BLOCK = 16 };
static unsigned char *(*put_block)(unsigned char *p, const int64_t *values);

#ifdef __x86_64__
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi2,popcnt")))

/* Builds each varint in three bytes of a 4-byte lane, seven bits in each byte. Sets the top bit of
 * each byte that another follows. Stores the first byte, and each other one that is not zero. */
AVX512 static unsigned char *put_block_avx512(unsigned char *p, const int64_t *values)
{
    __m512i low = _mm512_loadu_si512(values), high = _mm512_loadu_si512(values + 8);
    if (_mm512_test_epi64_mask(_mm512_or_si512(low, high), _mm512_set1_epi64(-(1 << SHORT_BITS))))
        return NULL;
    __m512i v = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(low)),
                                   _mm512_cvtepi64_epi32(high), 1);
    __m512i x = _mm512_or_si512(
        _mm512_and_si512(v, _mm512_set1_epi32(0x7F)),
        _mm512_or_si512(_mm512_and_si512(_mm512_slli_epi32(v, 1), _mm512_set1_epi32(0x7F00)),
                        _mm512_and_si512(_mm512_slli_epi32(v, 2), _mm512_set1_epi32(0x7F0000))));
    __mmask16 two = _mm512_test_epi32_mask(v, _mm512_set1_epi32(~0x7F));
    __mmask16 three = _mm512_test_epi32_mask(v, _mm512_set1_epi32(~0x3FFF));
    x = _mm512_mask_or_epi32(x, two, x, _mm512_set1_epi32(0x80));
    x = _mm512_mask_or_epi32(x, three, x, _mm512_set1_epi32(0x8000));
    __mmask64 keep = _mm512_test_epi8_mask(_mm512_or_si512(x, _mm512_set1_epi32(1)),
                                           _mm512_set1_epi8(-1));
    int n = __builtin_popcountll(keep);
    _mm512_mask_storeu_epi8(p - n, ~0ull >> (64 - n), _mm512_maskz_compress_epi8(keep, x));
    return p - n;
}

__attribute__((constructor)) static void prepare(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bw"))
        put_block = put_block_avx512;
}
#endif

static unsigned char *put_ints(unsigned char *p, const int64_t *values, size_t n)
{
    while (n) {
        size_t block = n < BLOCK ? n : BLOCK;
        n -= block;
        unsigned char *at = put_block && block == BLOCK ? put_block(p, values + n) : NULL;
        p = at ? at : put_few(p, values + n, block);
    }
    return p;
}

/* Writes the tag and the length of field `number`, whose value is at [p, end), in front of the
 * value. Returns the start of what it wrote. */
static unsigned char *put_head(unsigned char *p, unsigned number, const unsigned char *end)
{
    p = put_varint(p, (uint64_t)(end - p));
    *--p = (unsigned char)(number << 3 | PROTOBUF_BYTES);
    return p;
}

static unsigned char *put_bytes(unsigned char *p, const char *bytes, size_t n)
{
    unsigned char *end = p;
    memcpy(p -= n, bytes, n);
    return put_head(p, 1, end);
}

static unsigned char *put_list(unsigned char *p, const struct feature *f)
{
    unsigned char *end = p;
    if (f->kind == FEATURE_INTS)
        p = put_ints(p, f->values, f->count);
    for (size_t i = f->count; f->kind != FEATURE_INTS && i-- > 0;) {
        if (f->kind == FEATURE_FLOATS) {
            le_put_f32(p -= 4, ((const float *)f->values)[i]);
        } else {
            const struct feature_text *t = (const struct feature_text *)f->values + i;
            p = put_bytes(p, t->data, t->len);
        }
    }
    return f->kind == FEATURE_BYTES || !f->count ? p : put_head(p, 1, end);
}

static unsigned char *put_entry(unsigned char *p, const struct feature *f)
{
    unsigned char *end = p;
    if (f->kind != FEATURE_NONE)
        p = put_head(put_list(p, f), f->kind, end);
    p = put_head(p, 2, end);
    p = put_bytes(p, f->name, strlen(f->name));
    return put_head(p, 1, end);
}

/* Returns an upper bound of the bytes that the feature needs. */
static size_t most_bytes(const struct feature *f)
{
    size_t n = HEADS_BYTES + strlen(f->name) + f->count * (1 + PROTOBUF_VARINT_MAX);
    for (size_t i = 0; f->kind == FEATURE_BYTES && i < f->count; i++)
        n += ((const struct feature_text *)f->values)[i].len;
    return n;
}

/* Returns the feature with the greatest name less than `name` (NULL: the last by name). */
static const struct feature *before(const struct feature *features, size_t n, const char *name)
{
    const struct feature *best = NULL;
    for (const struct feature *f = features; f < features + n; f++)
        if ((!name || strcmp(f->name, name) < 0) && (!best || strcmp(f->name, best->name) > 0))
            best = f;
    return best;
}

void example_encode(struct buf *out, const struct feature *features, size_t n)
{
    size_t most = SLACK + HEADS_BYTES, written = 0;
    for (size_t i = 0; i < n; i++)
        most += most_bytes(&features[i]);
    buf_reserve(out, most);
    unsigned char *end = (unsigned char *)out->data + out->len + most, *p = end;
    const char *name = NULL;
    for (const struct feature *f; (f = before(features, n, name)); name = f->name, written++)
        p = put_entry(p, f);
    assert(written == n); /* names must differ */
    p = put_head(p, 1, end);
    memmove(out->data + out->len, p, (size_t)(end - p));
    out->len += (size_t)(end - p);
    out->data[out->len] = '\0';
}

/* ---- reading ------------------------------------------------------------------------------ */

static int malformed(void)
{
    return err_set("not a tf.Example: malformed protocol buffer");
}

/* As protobuf_next, but sets the error. */
static int next_field(const unsigned char **p, const unsigned char *end, struct protobuf_field *f)
{
    int more = protobuf_next(p, end, f);
    return more < 0 ? malformed() : more;
}

void example_open(struct example_reader *r, const void *data, size_t n)
{
    static const unsigned char nothing[1];
    const unsigned char *p = n ? data : nothing;
    *r = (struct example_reader){ p, p + n, p, p };
}

/* Finds the kind of list that the Feature holds. Returns 0, or -1 with an error. */
static int find_kind(struct feature_view *v)
{
    struct protobuf_field f;
    int result;
    v->kind = FEATURE_NONE;
    for (const unsigned char *p = v->data; (result = next_field(&p, v->end, &f)) > 0;) {
        if (f.wire != PROTOBUF_BYTES || f.number > FEATURE_INTS)
            continue;
        if (v->kind && v->kind != (enum feature_kind)f.number)
            return err_set("feature '%.*s' has lists of two kinds",
                           (int)(v->name_len < 64 ? v->name_len : 64), v->name);
        v->kind = (enum feature_kind)f.number;
    }
    return result;
}

/* Reads a map entry, a name and its Feature, into *v. A missing name or value is empty. */
static int read_entry(const struct protobuf_field *entry, struct feature_view *v)
{
    struct protobuf_field f;
    int result, values = 0;
    *v = (struct feature_view){ "", 0, FEATURE_NONE, entry->end, entry->end };
    for (const unsigned char *p = entry->data; (result = next_field(&p, entry->end, &f)) > 0;) {
        if (f.wire == PROTOBUF_BYTES && f.number == 1) {
            v->name = (const char *)f.data;
            v->name_len = (size_t)(f.end - f.data);
        } else if (f.wire == PROTOBUF_BYTES && f.number == 2) {
            if (values++)
                return malformed(); /* two values of one entry would have to be merged */
            v->data = f.data;
            v->end = f.end;
        }
    }
    return result < 0 ? -1 : find_kind(v);
}

int example_next(struct example_reader *r, struct feature_view *v)
{
    struct protobuf_field f;
    int result;
    for (;;) {
        while ((result = next_field(&r->features, r->last, &f)) > 0)
            if (f.number == 1 && f.wire == PROTOBUF_BYTES)
                return read_entry(&f, v) < 0 ? -1 : 1;
        if (result == 0)
            result = next_field(&r->p, r->end, &f);
        if (result <= 0)
            return result;
        if (f.number == 1 && f.wire == PROTOBUF_BYTES) {
            r->features = f.data;
            r->last = f.end;
        }
    }
}

int example_find(const void *data, size_t n, const char *name, struct feature_view *found)
{
    struct example_reader r;
    struct feature_view v;
    int result, there = 0;
    for (example_open(&r, data, n); (result = example_next(&r, &v)) > 0;)
        if (bytes_are(v.name, v.name_len, name)) {
            *found = v;
            there = 1;
        }
    return result < 0 ? -1 : there;
}

/* ---- values ------------------------------------------------------------------------------- */

void feature_open(struct feature_reader *r, const struct feature_view *f)
{
    *r = (struct feature_reader){ .p = f->data, .end = f->end, .kind = f->kind };
}

/* Moves to the next run of values, which may be empty. Returns 1, 0 at the end, or -1 with an
 * error. */
static int next_run(struct feature_reader *r)
{
    struct protobuf_field f;
    int result;
    for (;;) {
        while ((result = next_field(&r->list, r->last, &f)) > 0) {
            if (f.number != 1 || (f.wire != scalar_wire[r->kind] && f.wire != PROTOBUF_BYTES))
                continue;
            r->run = f.data;
            r->run_end = f.end;
            return 1;
        }
        if (result == 0)
            result = next_field(&r->p, r->end, &f);
        if (result <= 0)
            return result;
        if (f.number == r->kind && f.wire == PROTOBUF_BYTES) {
            r->list = f.data;
            r->last = f.end;
        }
    }
}

/* Makes values available. Returns 1 if the run has values left or a next run was found, 0 at the
 * end, -1 on an error. */
static int find_values(struct feature_reader *r)
{
    return r->run < r->run_end ? 1 : next_run(r);
}

int64_t feature_ints(struct feature_reader *r, int64_t *values, size_t max)
{
    assert(r->kind == FEATURE_INTS);
    size_t n = 0;
    int more = 1;
    while (n < max && (more = find_values(r)) > 0) {
        r->run = get_varints(r->run, r->run_end, values, max, &n);
        if (!r->run)
            return malformed();
    }
    return more < 0 ? -1 : (int64_t)n;
}

int64_t feature_floats(struct feature_reader *r, float *values, size_t max)
{
    assert(r->kind == FEATURE_FLOATS);
    size_t n = 0;
    int more = 1;
    while (n < max && (more = find_values(r)) > 0) {
        if ((r->run_end - r->run) % 4)
            return malformed();
        for (; n < max && r->run < r->run_end; r->run += 4)
            values[n++] = le_f32(r->run);
    }
    return more < 0 ? -1 : (int64_t)n;
}

int feature_bytes(struct feature_reader *r, struct feature_text *value)
{
    assert(r->kind == FEATURE_BYTES);
    int more = next_run(r);
    if (more > 0)
        *value = (struct feature_text){ (const char *)r->run, (size_t)(r->run_end - r->run) };
    return more;
}
