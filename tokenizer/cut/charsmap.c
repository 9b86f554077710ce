#include "tokenizer/cut/charsmap.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/base/le.h"
#include "common/base/simd.h"
#include "common/base/utf8.h"
#include "tokenizer/cut/regex.h"
#include "tokenizer/cut/trie.h"

enum { CLUSTER_MAX = 5 }; /* bytes of a cluster; longer ones are processed character by character */

struct charsmap {
    uint32_t *units;
    size_t unit_count;
    char *texts;
    size_t text_bytes;
    unsigned char changes[256]; /* 1: a string of the map or of `kept` begins with it */
    unsigned char alone[256]; /* the byte that an ASCII character becomes if another follows; 0: see
                                 the trie */
    struct trie kept;         /* texts that are kept */
};

/* ---- the trie -------------------------------------------------------------------------------- */

static uint32_t offset_of(uint32_t unit)
{
    return unit >> 10 << ((unit & 1u << 9) >> 6);
}

/* A position in the trie during a search. */
struct walk {
    const struct charsmap *m;
    uint32_t node;
    const char *value; /* value of the node, NULL for none */
};

static struct walk walk_begin(const struct charsmap *m)
{
    return (struct walk){ .m = m, .node = offset_of(m->units[0]) };
}

/* Returns 1 if the byte is inside of a character, else 0. */
static int is_inside(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Moves w to the child of its node by `byte`. Returns 1, or 0 if there is no such child. A damaged
 * map may have a value that begins inside of a character: it counts as none. */
static int walk_next(struct walk *w, unsigned char byte)
{
    w->node ^= byte;
    w->value = NULL;
    if (!byte || w->node >= w->m->unit_count)
        return 0;
    uint32_t unit = w->m->units[w->node];
    if ((unit & (1u << 31 | 0xFF)) != byte)
        return 0;
    w->node ^= offset_of(unit);
    if (unit >> 8 & 1 && w->node < w->m->unit_count) {
        uint32_t at = w->m->units[w->node] & ~(1u << 31);
        if (at < w->m->text_bytes && !is_inside(w->m->texts[at]))
            w->value = w->m->texts + at;
    }
    return 1;
}

/* Returns the byte that the ASCII character `byte` becomes if another ASCII character follows; 0 if
 * it may become something else than one byte. */
static unsigned char alone(const struct charsmap *m, unsigned char byte)
{
    struct walk w = walk_begin(m);
    if (!walk_next(&w, byte))
        return byte;
    for (unsigned char next = 1; next < 0x80; next++) {
        struct walk more = w;
        if (walk_next(&more, next))
            return 0;
    }
    return !w.value ? byte : w.value[0] && !w.value[1] ? (unsigned char)w.value[0] : 0;
}

struct charsmap *charsmap_new(const char *bytes, size_t n)
{
    size_t trie = n >= 4 ? le_u32((const unsigned char *)bytes) : 0;
    if (trie < 4 || trie % 4 || trie > n - 4 || trie + 4 == n || bytes[n - 1]) {
        err_set("the map of characters is damaged");
        return NULL;
    }
    struct charsmap *m = mem_zalloc(1, sizeof *m);
    m->unit_count = trie / 4;
    m->units = mem_alloc(trie);
    for (size_t i = 0; i < m->unit_count; i++)
        m->units[i] = le_u32((const unsigned char *)bytes + 4 + 4 * i);
    m->text_bytes = n - 4 - trie;
    m->texts = mem_alloc(m->text_bytes);
    memcpy(m->texts, bytes + 4 + trie, m->text_bytes);
    for (unsigned b = 1; b < 256; b++) {
        struct walk w = walk_begin(m);
        m->changes[b] = (unsigned char)walk_next(&w, (unsigned char)b);
        m->alone[b] = b < 0x80 ? alone(m, (unsigned char)b) : 0;
    }
    for (size_t i = 0; i < m->text_bytes;) {
        size_t len = strlen(m->texts + i);
        if (utf8_valid(m->texts + i, len) != len) {
            err_set("the map of characters has a text that is not UTF-8");
            charsmap_free(m);
            return NULL;
        }
        i += len + 1;
    }
    return m;
}

void charsmap_free(struct charsmap *m)
{
    if (!m)
        return;
    trie_release(&m->kept);
    free(m->units);
    free(m->texts);
    free(m);
}

/* ---- texts that are kept --------------------------------------------------------------------- */

void charsmap_keep(struct charsmap *m, const char *const *texts, size_t count)
{
    SCOPED_MEM struct trie_key *keys = mem_alloc((count + 1) * sizeof *keys);
    for (size_t i = 0; i < count; i++) {
        const unsigned char first = (unsigned char)texts[i][0];
        keys[i] = (struct trie_key){ texts[i], strlen(texts[i]), 0 };
        m->changes[first] = 1;
        m->alone[first] = 0;
    }
    trie_init(&m->kept, keys, count);
}

/* ---- SentencePiece's way --------------------------------------------------------------------- */

/* Returns the replacement of the next string of p[0..n), or NULL if it stays, and sets *len to its
 * length in bytes. The next string is a text that is kept; else the longest one of the map that
 * ends with a character; else one character. */
static const char *replacement(const struct charsmap *m, const char *p, size_t n, size_t *len)
{
    struct walk w = walk_begin(m);
    const char *found = NULL;
    if (m->kept.count && trie_longest(&m->kept, TRIE_ROOT, p, n, len) != TRIE_NONE)
        return NULL;
    utf8_get((const unsigned char *)p, len);
    for (size_t i = 0; i < n && walk_next(&w, (unsigned char)p[i]); i++)
        if (w.value && (i + 1 == n || !is_inside(p[i + 1]))) {
            found = w.value;
            *len = i + 1;
        }
    return found;
}

/* Returns how many bytes at the start of text[0..n) begin no string of the map. */
static size_t unchanged(const struct charsmap *m, const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && !m->changes[(unsigned char)text[i]])
        i++;
    return i;
}

#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi")))

/* As put_ascii, 64 bytes at a time: writes to to[0..n) what the first bytes of text[0..n) become.
 * Stops before the last 64 bytes, or at the first character that put_ascii does not write. Returns
 * the number of bytes written. */
AVX512 static size_t put_blocks(const struct charsmap *m, unsigned char *to,
                                const unsigned char *text, size_t n)
{
    const __m512i low = _mm512_loadu_si512(m->alone), high = _mm512_loadu_si512(m->alone + 64);
    size_t i = 0;
    for (; n - i > 64; i += 64) {
        __m512i c = _mm512_loadu_si512(text + i), next = _mm512_loadu_si512(text + i + 1);
        __m512i becomes = _mm512_permutex2var_epi8(low, c, high);
        _mm512_storeu_si512(to + i, becomes);
        uint64_t others = _mm512_movepi8_mask(_mm512_or_si512(c, next)) |
                          _mm512_testn_epi8_mask(becomes, becomes);
        if (others)
            return i + (size_t)__builtin_ctzll(others);
    }
    return i;
}
#endif

/* Appends to `out` what the ASCII characters at the beginning of text[0..n) become, up to one that
 * no ASCII character follows or that does not become one byte (m->alone). Returns their number. */
static size_t put_ascii(const struct charsmap *m, struct buf *out, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t i = 0;
    buf_reserve(out, n);
#if defined(__x86_64__)
    if (simd_level() == SIMD_AVX512)
        i = put_blocks(m, (unsigned char *)out->data + out->len, p, n);
#endif
    for (unsigned char byte; i + 1 < n && p[i + 1] < 0x80 && (byte = m->alone[p[i]]) != 0; i++)
        out->data[out->len + i] = (char)byte;
    buf_truncate(out, out->len + i);
    return i;
}

void charsmap_longest(const struct charsmap *m, struct buf *out, const char *text, size_t n)
{
    for (size_t i = 0, len; i < n; i += len) {
        i += put_ascii(m, out, text + i, n - i);
        len = unchanged(m, text + i, n - i);
        buf_add(out, text + i, len);
        i += len;
        if (i == n)
            break;
        const char *found = replacement(m, text + i, n - i, &len);
        if (found)
            buf_adds(out, found);
        else
            buf_add(out, text + i, len);
    }
}

/* ---- Hugging Face's way ---------------------------------------------------------------------- */

/* Returns the replacement of the shortest prefix of p[0..n) in the map, or NULL. */
static const char *shortest(const struct charsmap *m, const char *p, size_t n)
{
    struct walk w = walk_begin(m);
    for (size_t i = 0; i < n && walk_next(&w, (unsigned char)p[i]); i++)
        if (w.value)
            return w.value;
    return NULL;
}

/* Returns 1 if the byte p[0] is certain to be a cluster by itself, else 0. Two ASCII bytes form one
 * cluster only as CR LF. */
static int is_alone(const char *p, size_t n)
{
    return (unsigned char)p[0] < 0x80 &&
           (n == 1 || ((unsigned char)p[1] < 0x80 && !(p[0] == '\r' && p[1] == '\n')));
}

/* Calls `put` for the parts of a cluster. */
static void trace_cluster(const struct charsmap *m, const char *p, size_t n, charsmap_put *put,
                          void *ctx)
{
    const char *found = n <= CLUSTER_MAX ? shortest(m, p, n) : NULL;
    if (found) {
        put(ctx, p, n, found);
        return;
    }
    for (size_t i = 0, len; i < n; i += len) {
        utf8_get((const unsigned char *)p + i, &len);
        put(ctx, p + i, len, shortest(m, p + i, len));
    }
}

static void trace_longest(const struct charsmap *m, const char *text, size_t n, charsmap_put *put,
                          void *ctx)
{
    for (size_t i = 0, len; i < n; i += len) {
        const char *found = replacement(m, text + i, n - i, &len);
        put(ctx, text + i, len, found);
    }
}

int charsmap_trace(const struct charsmap *m, const struct regex *cluster,
                   struct regex_scratch *scratch, const char *text, size_t n, charsmap_put *put,
                   void *ctx)
{
    if (!cluster)
        trace_longest(m, text, n, put, ctx);
    for (size_t i = 0, begin, end; i < n && cluster; i = end) {
        for (end = i;
             end < n && !m->changes[(unsigned char)text[end]] && is_alone(text + end, n - end);)
            end++;
        if (end > i) {
            put(ctx, text + i, end - i, NULL);
            continue;
        }
        end = i + 1;
        if (!is_alone(text + i, n - i) &&
            regex_find(cluster, scratch, text, n, i, &begin, &end) <= 0)
            return -1;
        trace_cluster(m, text + i, end - i, put, ctx);
    }
    return 0;
}
