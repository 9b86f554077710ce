#include "tokenizer/cut/lanes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/base/simd.h"
#include "tokenizer/cut/automaton.h"

enum {
    PART = LANES_BYTES / LANES,
    ROW = 2 * LANES, /* bytes from a row to the next; the first 64 are used */
    SYMBOLS_MAX = 32,
};

/* The classes and symbols of a block. Row j has those of byte j of each part, side by side. Vectors
 * that are read one byte before or after a row include a byte beside it, which does not influence
 * the results. */
struct lanes_block {
    _Alignas(64) uint8_t before[LANES];
    uint8_t symbols[PART][ROW];
    uint8_t classes[PART][ROW];
};

void lanes_release(struct lanes *l)
{
    free(l->blocks);
    *l = (struct lanes){ 0 };
}

#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2")))
#define ALWAYS AVX512 __attribute__((always_inline)) static inline

/* ---- rows ------------------------------------------------------------------------------------ */

/* Stores eight groups of 8 bytes in rows j, j + 1, j + 16, j + 17 ..., in each row from byte `lane`
 * on. */
ALWAYS void put_groups(uint8_t (*rows)[ROW], int j, int lane, __m512i groups)
{
    for (int i = 0; i < 4; i++) {
        __m128i two = i == 0   ? _mm512_castsi512_si128(groups)
                      : i == 1 ? _mm512_extracti32x4_epi32(groups, 1)
                      : i == 2 ? _mm512_extracti32x4_epi32(groups, 2)
                               : _mm512_extracti32x4_epi32(groups, 3);
        _mm_storel_epi64((__m128i *)&rows[16 * i + j][lane], two);
        _mm_storel_epi64((__m128i *)&rows[16 * i + j + 1][lane], _mm_unpackhi_epi64(two, two));
    }
}

/* Transposes eight parts: for each j, stores byte j of each part in row j, side by side from byte
 * `lane` on. */
ALWAYS void transpose_8(uint8_t (*rows)[ROW], const uint8_t *parts, int lane)
{
    __m512i a[8], b[8];
    for (int i = 0; i < 8; i++)
        a[i] = _mm512_loadu_si512(parts + PART * (lane + i));
    for (int i = 0; i < 4; i++) { /* b[i]: low bytes of parts 2i, 2i + 1; b[4 + i]: high ones */
        b[i] = _mm512_unpacklo_epi8(a[2 * i], a[2 * i + 1]);
        b[4 + i] = _mm512_unpackhi_epi8(a[2 * i], a[2 * i + 1]);
    }
    for (int h = 0; h < 2; h++) { /* of four parts: bytes 0-3, 4-7 of the eight */
        for (int i = 0; i < 2; i++) {
            a[4 * h + i] = _mm512_unpacklo_epi16(b[4 * h + 2 * i], b[4 * h + 2 * i + 1]);
            a[4 * h + 2 + i] = _mm512_unpackhi_epi16(b[4 * h + 2 * i], b[4 * h + 2 * i + 1]);
        }
        for (int q = 0; q < 2; q++) {
            __m512i x = a[4 * h + 2 * q], y = a[4 * h + 2 * q + 1];
            put_groups(rows, 8 * h + 4 * q, lane, _mm512_unpacklo_epi32(x, y));
            put_groups(rows, 8 * h + 4 * q + 2, lane, _mm512_unpackhi_epi32(x, y));
        }
    }
}

/* Transposes the matrix m[64] of 64 x 64 bits, in place. */
static void transpose_bits(uint64_t *m)
{
    uint64_t mask = 0x00000000FFFFFFFFu;
    for (int step = 32; step; step >>= 1, mask ^= mask << step)
        for (int k = 0; k < 64; k = ((k | step) + 1) & ~step) {
            uint64_t swap = (m[k] >> step ^ m[k | step]) & mask;
            m[k] ^= swap << step;
            m[k | step] ^= swap;
        }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* A table of 16 or 32 rows of 16 bytes. */
struct table {
    __m512i quarters[8];
};

ALWAYS struct table load_table(const uint8_t (*rows)[AUTOMATON_STATES], int wide)
{
    struct table t;
    for (int i = 0; i < (wide ? 8 : 4); i++)
        t.quarters[i] = _mm512_loadu_si512(rows[4 * i]);
    return t;
}

/* Looks up 64 entries of a table. `low` has their positions within 16 rows. `wide` 1: the table has
 * 32 rows, and lanes in `second` use its second 16 rows. */
ALWAYS __m512i look_up(const struct table *t, int wide, __m512i low, __mmask64 second)
{
    __mmask64 upper = _mm512_movepi8_mask(low);
    const __m512i *q = t->quarters;
    __m512i found = _mm512_mask_blend_epi8(upper, _mm512_permutex2var_epi8(q[0], low, q[1]),
                                           _mm512_permutex2var_epi8(q[2], low, q[3]));
    if (!wide)
        return found;
    __m512i other = _mm512_mask_blend_epi8(upper, _mm512_permutex2var_epi8(q[4], low, q[5]),
                                           _mm512_permutex2var_epi8(q[6], low, q[7]));
    return _mm512_mask_blend_epi8(second, found, other);
}

ALWAYS __m512i places(__m512i rows, __m512i states)
{
    const __m512i sixteen = _mm512_set1_epi8((char)0xF0);
    __m512i shifted = _mm512_and_si512(_mm512_slli_epi16(rows, 4), sixteen);
    return _mm512_or_si512(shifted, states);
}

/* Returns 1 if lane k + 1 of `first` equals lane k of `last`, for all k, else 0. */
ALWAYS int meet(__m512i first, __m512i last)
{
    uint8_t lanes[LANES + 1];
    _mm512_storeu_si512(lanes, first);
    lanes[LANES] = 0;
    __mmask64 same = _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(lanes + 1), last);
    return (same | (uint64_t)1 << (LANES - 1)) == UINT64_MAX;
}

/* Runs the backward automaton over a block. *behind is the state after the block; the function
 * replaces it by the state before the block. `wide` is as for look_up. Returns 0, or -1 if the
 * states at the borders of the parts differ. */
ALWAYS int go_back(struct lanes_block *l, const struct automaton *a, uint8_t *behind, int wide)
{
    const struct table back = load_table(a->back, wide), symbols = load_table(a->symbols, wide);
    const __m512i end = _mm512_set1_epi8((char)a->back_end), bit = _mm512_set1_epi8(16),
                  cut = _mm512_set1_epi8(AUTOMATON_CUT);
    __m512i state = end, last = end;
    for (int j = PART + LANES_OUTSIDE - 1; j >= 0; j--) {
        if (j == PART - 1)
            last = state = _mm512_mask_mov_epi8(state, (uint64_t)1 << (LANES - 1),
                                                _mm512_set1_epi8((char)*behind));
        __m512i class = _mm512_loadu_si512(j < PART ? l->classes[j] : l->classes[j - PART] + 1);
        __m512i low = places(class, state);
        __mmask64 second = wide ? _mm512_test_epi8_mask(class, bit) : 0;
        __mmask64 cuts = _mm512_test_epi8_mask(class, cut);
        if (j < PART) {
            __m512i symbol = look_up(&symbols, wide, low, second);
            __m512i flag = _mm512_slli_epi16(_mm512_and_si512(class, cut), 2);
            _mm512_storeu_si512(l->symbols[j], _mm512_or_si512(symbol, flag));
        }
        state = _mm512_mask_mov_epi8(look_up(&back, wide, low, second), cuts, end);
    }
    *behind = (uint8_t)_mm_extract_epi8(_mm512_castsi512_si128(state), 0);
    return meet(state, last) ? 0 : -1;
}

/* Runs the forward automaton over a block and sets marks[64]: bit k of marks[j] is set if a piece
 * begins at byte j of part k. *before is the state before the block; the function replaces it by
 * the state after the block. `wide` is as for look_up. Returns 0, or -1 if the states at the
 * borders of the parts differ. */
ALWAYS int go_forth(struct lanes_block *l, const struct automaton *a, uint8_t *before,
                    uint64_t *marks, int wide)
{
    const struct table forward = load_table(a->forward, wide);
    const __m512i start = _mm512_set1_epi8((char)a->start), bit = _mm512_set1_epi8(16);
    const __m512i only = _mm512_set1_epi8(AUTOMATON_STATE),
                  begins = _mm512_set1_epi8(AUTOMATON_BEGIN);
    __m512i state = start, first = start;
    for (int j = -LANES_OUTSIDE; j < PART; j++) {
        if (!j)
            first = state = _mm512_mask_mov_epi8(state, 1, _mm512_set1_epi8((char)*before));
        const uint8_t *row = l->symbols[j >= 0 ? j : j + PART];
        __m512i symbol = _mm512_loadu_si512(row - (j < 0));
        state = _mm512_mask_mov_epi8(state, _mm512_movepi8_mask(symbol), start);
        __mmask64 second = wide ? _mm512_test_epi8_mask(symbol, bit) : 0;
        __m512i to = look_up(&forward, wide, places(symbol, state), second);
        if (j >= 0)
            marks[j] = _mm512_test_epi8_mask(to, begins);
        state = _mm512_and_si512(to, only);
    }
    *before = (uint8_t)_mm_extract_epi8(_mm512_extracti32x4_epi32(state, 3), 15);
    return meet(first, state) ? 0 : -1;
}

AVX512 static int back(struct lanes_block *l, const struct automaton *a, const uint8_t *classes,
                       uint8_t *behind)
{
    for (int lane = 0; lane < LANES; lane += 8)
        transpose_8(l->classes, classes, lane);
    for (int j = 0; j < LANES_OUTSIDE; j++)
        l->classes[j][LANES] = classes[LANES_BYTES + j];
    return a->tail < 16 ? go_back(l, a, behind, 0) : go_back(l, a, behind, 1);
}

AVX512 static int forth(struct lanes_block *l, const struct automaton *a, uint8_t *before,
                        uint64_t *marks)
{
    int result = a->symbol_count <= 16 ? go_forth(l, a, before, marks, 0)
                                       : go_forth(l, a, before, marks, 1);
    transpose_bits(marks);
    return result;
}

static void reserve(struct lanes *l, size_t count)
{
    if (count <= l->cap)
        return;
    lanes_release(l);
    l->blocks = mem_aligned(count, sizeof *l->blocks);
    memset(l->blocks, 0, count * sizeof *l->blocks);
    l->cap = count;
}

static int go(struct lanes *l, const struct automaton *a, const uint8_t *classes, size_t count,
              uint8_t behind, uint64_t *marks)
{
    uint8_t before = a->start;
    reserve(l, count);
    for (size_t i = count; i-- > 0;)
        if (back(&l->blocks[i], a, classes + i * LANES_BYTES, &behind) < 0)
            return -1;
    for (size_t i = 0; i < count; i++)
        if (forth(&l->blocks[i], a, &before, marks + i * LANES) < 0)
            return -1;
    return 0;
}
#endif

int lanes_go(struct lanes *l, const struct automaton *a, const uint8_t *classes, size_t count,
             uint8_t behind, uint64_t *marks)
{
#if defined(__x86_64__)
    if (simd_level() == SIMD_AVX512 && a->symbol_count <= SYMBOLS_MAX)
        return go(l, a, classes, count, behind, marks);
#endif
    (void)l, (void)a, (void)classes, (void)count, (void)behind, (void)marks;
    return -1;
}
