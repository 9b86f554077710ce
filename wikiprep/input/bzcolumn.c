#include "wikiprep/input/bzcolumn.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "common/base/simd.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    AT_ONCE = 5,    /* words of up to BZCODE_FAST bits decoded per refill; divides BZCOLUMN_GROUP */
    SHIFT_MAX = 24, /* maximum digits of a run length; no block has a longer run */
};

/* ---- tokens -------------------------------------------------------------------------------- */

/* Tokens of a group. A token is a position | (length of the run after it << 8). Later digits may
 * still extend the run of the last token. */
struct tokens {
    uint64_t token[BZCOLUMN_GROUP + 1];
    int count;      /* number of complete tokens; excludes the last */
    unsigned shift; /* bit position of the last token's next digit */
};

enum found { ALL, END, NO_WORD, TOO_LONG };

/* Reads the symbols of a group, and appends their tokens to *t after the current one, token[0].
 * Returns ALL, or why it stopped before the end of the group: the end mark, bits that are no word
 * of the code, or a run that is too long. */
INLINE enum found read_group(struct bzbits *input, const struct bzcode *code, unsigned end_mark,
                             struct tokens *t)
{
    struct bzbits in = *input;
    uint64_t *to = t->token, now = *to;
    unsigned shift = t->shift;
    enum found found = ALL;
    for (int i = 0; i < BZCOLUMN_GROUP / AT_ONCE && found == ALL; i++) {
        unsigned sum = 0;
        bzbits_refill(&in);
#pragma GCC unroll 5
        for (int k = 0; k < AT_ONCE; k++) {
            unsigned word = code->fast[in.bits >> (64 - BZCODE_FAST)];
            if (__builtin_expect(!word, 0)) {
                in.held -= sum % BZCODE_PLACE;
                sum = 0;
                bzbits_refill(&in);
                word = bzcode_find(code, in.bits);
                if (word)
                    bzbits_take(&in, word & BZCODE_LENGTH);
                if (!word || word >> 8 == end_mark) {
                    found = word ? END : NO_WORD;
                    break;
                }
                bzbits_refill(&in);
                word &= ~(unsigned)BZCODE_LENGTH;
            }
            in.bits <<= word & BZCODE_LENGTH;
            sum += word;
            /* A position begins a new token. A digit is added to the current one. */
            unsigned is_place = word / BZCODE_PLACE & 1;
            uint64_t keep = (uint64_t)is_place - 1;
            shift &= (unsigned)keep;
            now = (now & keep) + ((uint64_t)(word >> 8) << shift);
            shift += 1 + 7 * is_place;
            to += is_place;
            *to = now;
        }
        in.held -= sum % BZCODE_PLACE; /* sum of the code lengths; five words cannot overflow it */
        if (__builtin_expect(shift > 8 + SHIFT_MAX, 0))
            found = TOO_LONG;
    }
    *input = in;
    t->count = (int)(to - t->token);
    t->shift = shift;
    return found;
}

/* ---- move to front ------------------------------------------------------------------------- */

/* The move-to-front list. Its first bytes are in `near` (8 or 16 of them); the others follow in
 * `far`. */
struct list {
    uint8_t spare[16]; /* scratch bytes before `far` */
    uint8_t far[256 + 16];
};

/* Removes far[n], inserts `in` at the front of far, and returns the removed byte. */
INLINE uint8_t from_far(struct list *l, unsigned n, uint8_t in)
{
    uint8_t byte = l->far[n];
    for (int to = (int)n; to > 0; to -= 16) {
        uint8_t row[16];
        memcpy(row, l->far + to - 16, 16);
        memcpy(l->far + to - 15, row, 16);
    }
    l->far[0] = in;
    return byte;
}

/* Writes the bytes of `count` tokens to `out`, and adds the number of times that each byte occurs
 * to occurs[byte]. `near` and `l` are the move-to-front list. Returns the new end of the column, or
 * NULL if it would pass `end`. */
typedef uint8_t *put_tokens(uint8_t near[16], struct list *l, const uint64_t *token, int count,
                            uint8_t *out, const uint8_t *end, uint32_t *occurs);

enum { NEAR = 8 }; /* bytes in one register, the first lowest */

INLINE uint64_t to_front(struct list *l, uint64_t near, unsigned place)
{
    if (place >= NEAR)
        return near << 8 | from_far(l, place - NEAR, (uint8_t)(near >> 56));
    unsigned bit = 8 * place;
    uint64_t below = (UINT64_C(1) << bit) - 1, byte = near >> bit & 255;
    uint64_t above = place == NEAR - 1 ? 0 : near & ~UINT64_C(0) << (bit + 8);
    return above | (near & below) << 8 | byte;
}

INLINE uint8_t *put_plain(uint8_t near_bytes[16], struct list *l, const uint64_t *token, int count,
                          uint8_t *out, const uint8_t *end, uint32_t *occurs)
{
    uint64_t near = 0;
    for (int i = NEAR; i-- > 0;)
        near = near << 8 | near_bytes[i];
    for (int i = 0; i < count; i++) {
        uint64_t n = (token[i] >> 8) + 1;
        if (n > (size_t)(end - out))
            return NULL;
        near = to_front(l, near, token[i] & 255);
        uint8_t byte = (uint8_t)near;
        *out = byte;
        if (n > 1)
            memset(out + 1, byte, n - 1);
        occurs[byte] += (uint32_t)n;
        out += n;
    }
    for (int i = 0; i < NEAR; i++)
        near_bytes[i] = (uint8_t)(near >> 8 * i);
    return out;
}

/* ---- a column ------------------------------------------------------------------------------ */

static void set_middle(struct bzchain_column *last, const uint8_t *out)
{
    last->middle = (size_t)(out - last->bytes);
    memcpy(last->before, last->occurs, sizeof last->before);
}

/* Reads the whole column. The first near_count bytes of the move-to-front list are kept in near[],
 * the others in list.far; `put` is the function for that size of near[]. Returns NULL, or a
 * sentence that says what is wrong. A run before the first position becomes a run of an initial
 * token for position 0. That token leaves the list unchanged and writes one extra byte before the
 * column. */
INLINE const char *read_column(struct bzcolumn *c, struct bzbits *in, int near_count,
                               put_tokens *put)
{
    struct tokens t = { .shift = 8 };
    struct list list;
    uint8_t near[16] = { 0 };
    memcpy(near, c->alphabet, (size_t)near_count);
    memcpy(list.far, c->alphabet + near_count, 256 - (size_t)near_count);
    struct bzchain_column *last = &c->last;
    *last = (struct bzchain_column){ .bytes = c->memory + 1 };
    uint8_t *out = c->memory, *end = c->memory + 1 + BZCHAIN_MAX;
    enum found found = ALL;
    for (int g = 0; g < c->groups && found == ALL; g++) {
        t.token[0] = t.token[t.count];
        found = read_group(in, &c->codes[c->choice[g]], (unsigned)c->used, &t);
        out = put(near, &list, t.token, t.count + (found == END), out, end, last->occurs);
        if (!out)
            found = TOO_LONG;
        else if (!last->middle && out - last->bytes > BZCHAIN_MAX / 2)
            set_middle(last, out);
    }
    if (found == END) {
        last->n = (size_t)(out - last->bytes);
        last->occurs[c->alphabet[0]]--;
        if (!last->middle)
            set_middle(last, out);
        else
            last->before[c->alphabet[0]]--;
    }
    static const char *const why[] = { [ALL] = "damaged bzip2 block: it has no end",
                                       [NO_WORD] = "damaged bzip2 block: no word of its code",
                                       [TOO_LONG] = "damaged bzip2 block: it is too long" };
    return why[found];
}

#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2,bmi,bmi2")))

/* turn[p] is the shuffle that moves the byte at position p to the front. */
static uint8_t turn[16][16];

__attribute__((constructor)) static void make_turns(void)
{
    for (int p = 0; p < 16; p++)
        for (int i = 0; i < 16; i++)
            turn[p][i] = (uint8_t)(!i ? p : i <= p ? i - 1 : i);
}

AVX2 INLINE uint8_t *put_avx2(uint8_t near_bytes[16], struct list *l, const uint64_t *token,
                              int count, uint8_t *out, const uint8_t *end, uint32_t *occurs)
{
    __m128i near = _mm_loadu_si128((const __m128i *)near_bytes);
    for (int i = 0; i < count; i++) {
        uint64_t n = (token[i] >> 8) + 1;
        unsigned place = token[i] & 255;
        if (__builtin_expect(n > (size_t)(end - out), 0))
            return NULL;
        if (place < 16) {
            near = _mm_shuffle_epi8(near, _mm_loadu_si128((const __m128i *)turn[place]));
        } else {
            uint8_t byte = from_far(l, place - 16, (uint8_t)_mm_extract_epi8(near, 15));
            near = _mm_or_si128(_mm_slli_si128(near, 1), _mm_cvtsi32_si128(byte));
        }
        __m256i run = _mm256_broadcastb_epi8(near);
        uint8_t byte = (uint8_t)_mm_cvtsi128_si32(near);
        _mm256_storeu_si256((__m256i *)out, run);
        if (__builtin_expect(n > 32, 0))
            memset(out + 32, byte, n - 32);
        occurs[byte] += (uint32_t)n;
        out += n;
    }
    _mm_storeu_si128((__m128i *)near_bytes, near);
    return out;
}

AVX2 static const char *read_avx2(struct bzcolumn *c, struct bzbits *in)
{
    return read_column(c, in, 16, put_avx2);
}
#endif

const char *bzcolumn_read(struct bzcolumn *c, struct bzbits *in)
{
#ifdef __x86_64__
    if (simd_level() >= SIMD_AVX2)
        return read_avx2(c, in);
#endif
    return read_column(c, in, NEAR, put_plain);
}
