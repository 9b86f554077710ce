#include "wikiprep/input/bzrun.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "common/base/simd.h"
#include "wikiprep/input/bzbits.h"

/* ---- runs ---------------------------------------------------------------------------------- */

typedef uint8_t row __attribute__((vector_size(16)));

static row load(const uint8_t *p)
{
    row r;
    memcpy(&r, p, sizeof r);
    return r;
}

/* Returns 1 if any of the 16 bytes at p equals the three bytes after it, else 0. */
static int has_run(const uint8_t *p)
{
    row a = load(p), b = load(p + 1), c = load(p + 2), d = load(p + 3);
    row equal = (row)(a == b) & (row)(b == c) & (row)(c == d);
    uint64_t halves[2];
    memcpy(halves, &equal, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

size_t bzrun_next(const uint8_t *bytes, size_t from, size_t count)
{
    size_t i = from;
    while (i + sizeof(row) + 3 <= count && !has_run(bytes + i))
        i += sizeof(row);
    for (; i + 4 <= count; i++)
        if (bytes[i] == bytes[i + 1] && bytes[i] == bytes[i + 2] && bytes[i] == bytes[i + 3])
            return i + 4;
    return count;
}

/* ---- checksum ------------------------------------------------------------------------------ */

static const uint32_t POLYNOMIAL = 0x04C11DB7;
static uint32_t table[8][256];

/* Returns the polynomial c times x^n, modulo that of the CRC. */
static uint32_t times_x(uint32_t c, unsigned n)
{
    while (n--)
        c = c << 1 ^ (c >> 31 ? POLYNOMIAL : 0);
    return c;
}

static uint32_t by_table(uint32_t crc, const uint8_t *p, size_t n)
{
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t v = bzbits_load(p) ^ (uint64_t)crc << 32;
        crc = table[7][v >> 56] ^ table[6][v >> 48 & 255] ^ table[5][v >> 40 & 255] ^
              table[4][v >> 32 & 255] ^ table[3][v >> 24 & 255] ^ table[2][v >> 16 & 255] ^
              table[1][v >> 8 & 255] ^ table[0][v & 255];
    }
    for (; n; n--)
        crc = crc << 8 ^ table[0][crc >> 24 ^ *p++];
    return crc;
}

#ifdef __x86_64__
#define PCLMUL __attribute__((target("pclmul,ssse3")))

/* Bytes are read as a polynomial whose first bits have the highest powers. To multiply a row of 16
 * bytes by x^512 or x^128, its two halves are multiplied by x^(64 + power) and x^power modulo the
 * CRC polynomial. */
static uint64_t move_512[2], move_128[2];

PCLMUL static __m128i turned(__m128i r)
{
    return _mm_shuffle_epi8(r, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

PCLMUL static __m128i load_row(const uint8_t *p)
{
    return turned(_mm_loadu_si128((const __m128i *)p));
}

PCLMUL static __m128i move_row(__m128i r, __m128i powers)
{
    return _mm_xor_si128(_mm_clmulepi64_si128(r, powers, 0x11),
                         _mm_clmulepi64_si128(r, powers, 0x00));
}

/* Returns the CRC, computed with carry-less multiplication; n >= 64. Four rows are processed at a
 * time and are combined at the end into one row with the same remainder. */
PCLMUL static uint32_t by_rows(uint32_t crc, const uint8_t *p, size_t n)
{
    const __m128i far = _mm_loadu_si128((const __m128i *)move_512);
    const __m128i near = _mm_loadu_si128((const __m128i *)move_128);
    __m128i rows[4];
    for (int k = 0; k < 4; k++)
        rows[k] = load_row(p + 16 * k);
    rows[0] = _mm_xor_si128(rows[0], _mm_set_epi32((int)crc, 0, 0, 0));
    for (p += 64, n -= 64; n >= 64; p += 64, n -= 64)
        for (int k = 0; k < 4; k++)
            rows[k] = _mm_xor_si128(move_row(rows[k], far), load_row(p + 16 * k));
    for (int k = 0; k < 3; k++)
        rows[k + 1] = _mm_xor_si128(move_row(rows[k], near), rows[k + 1]);
    uint8_t last[16];
    _mm_storeu_si128((__m128i *)last, turned(rows[3]));
    return by_table(by_table(0, last, sizeof last), p, n);
}
#endif

/* Runs before main, so that threads find the tables complete. */
__attribute__((constructor)) static void prepare(void)
{
    for (uint32_t i = 0; i < 256; i++)
        table[0][i] = times_x(i << 24, 8);
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < 256; i++) {
            uint32_t c = table[t - 1][i];
            table[t][i] = c << 8 ^ table[0][c >> 24];
        }
#ifdef __x86_64__
    for (int high = 0; high < 2; high++) {
        move_512[high] = times_x(1, 512 + 64 * (unsigned)high);
        move_128[high] = times_x(1, 128 + 64 * (unsigned)high);
    }
#endif
}

uint32_t bzrun_crc(uint32_t crc, const uint8_t *bytes, size_t n)
{
#ifdef __x86_64__
    if (n >= 64 && simd_level() >= SIMD_AVX2)
        return by_rows(crc, bytes, n);
#endif
    return by_table(crc, bytes, n);
}
