#include "tokenizer/model/seams.h"

#include <stdlib.h>

#include "common/mem.h"
#include "common/utf8.h"
#include "tokenizer/model/vocabulary.h"
#include "unicode/unicode.h"

enum { BITS_LOG_MIN = 16, BITS_PER_PAIR = 8 };

/* `bits` is a hash set of the pairs of characters that are neighbours inside a token; `known` has
 * a bit for each character that is a token. */
struct seams {
    uint64_t *bits;
    int shift;
    int needed; /* a cut needs so many known characters at its sides: 1 or 2 */
    uint64_t known[UNICODE_LIMIT / 64];
};

static inline int is_known(const struct seams *s, uint32_t c)
{
    return s->known[c >> 6] >> (c & 63) & 1;
}

static inline uint64_t place_of(const struct seams *s, uint32_t left, uint32_t right)
{
    return (((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u) >> s->shift;
}

static inline int is_inside(const struct seams *s, uint32_t left, uint32_t right)
{
    uint64_t place = place_of(s, left, right);
    return s->bits[place >> 6] >> (place & 63) & 1;
}

static int is_byte_name(const char *bytes, size_t n)
{
    return n == 6 && bytes[0] == '<' && bytes[1] == '0' && bytes[2] == 'x' && bytes[5] == '>';
}

/* Returns whether some merge joins byte tokens or the unknown token, which stand for other
 * characters than those of their names. */
static int merges_others(const struct vocabulary *v)
{
    for (size_t i = 0; i < v->merge_count; i++) {
        const uint32_t ids[] = { v->merges[i].left, v->merges[i].right };
        for (int k = 0; k < 2; k++) {
            size_t n;
            const char *bytes = vocabulary_bytes(v, ids[k], &n);
            if (ids[k] == v->roles[TOKENIZER_UNKNOWN] ||
                (v->byte_fallback && is_byte_name(bytes, n)))
                return 1;
        }
    }
    return 0;
}

static void put_token(struct seams *s, const char *bytes, size_t n)
{
    size_t len = 0;
    uint32_t before = 0;
    for (size_t i = 0; i < n; i += len) {
        uint32_t c = utf8_get((const unsigned char *)bytes + i, &len);
        if (len == n)
            s->known[c >> 6] |= (uint64_t)1 << (c & 63);
        uint64_t place = place_of(s, before, c);
        if (i)
            s->bits[place >> 6] |= (uint64_t)1 << (place & 63);
        before = c;
    }
}

/* Takes pairs of neighbours only from tokens of the model, because others are neither made by
 * merges nor the token of a character. */
struct seams *seams_new(const struct vocabulary *v)
{
    int log = BITS_LOG_MIN;
    size_t n;
    if ((v->model != VOCABULARY_BPE && v->model != VOCABULARY_UNIGRAM) || v->byte_level ||
        v->ignore_merges || *v->prefix || *v->suffix || merges_others(v))
        return NULL;
    while (((size_t)1 << log) < (size_t)v->count * BITS_PER_PAIR)
        log++;
    struct seams *s = mem_zalloc(1, sizeof *s);
    s->bits = mem_zalloc(((size_t)1 << log) / 64, sizeof *s->bits);
    s->shift = 64 - log;
    /* an unknown character is left out, so its neighbours may merge */
    s->needed = v->roles[TOKENIZER_UNKNOWN] < 0 ? 2 : 1;
    for (uint32_t id = 0; id < v->count; id++) {
        const char *bytes = vocabulary_bytes(v, id, &n);
        if (bytes && v->tokens[id].in_model && utf8_valid(bytes, n) == n)
            put_token(s, bytes, n);
    }
    return s;
}

void seams_free(struct seams *s)
{
    if (!s)
        return;
    free(s->bits);
    free(s);
}

size_t seams_cut(const struct seams *s, const char *text, size_t n, size_t at, size_t *ends,
                 size_t max)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t count = 0, len;
    uint32_t before = utf8_get(p + at, &len);
    for (size_t i = at + len; i < n && count < max; i += len) {
        uint32_t c = utf8_get(p + i, &len);
        ends[count] = i;
        count += !is_inside(s, before, c) && is_known(s, before) + is_known(s, c) >= s->needed;
        before = c;
    }
    if (count < max)
        ends[count++] = n;
    return count;
}
