#include "common/crc32c.h"

#include "common/le.h"

enum { STRIPE = 256 }; /* bytes; three side by side fit a record of a few hundred tokens */

static const uint32_t POLYNOMIAL = 0x82F63B78u;

/* by_byte[k][b]: what byte b does to the register when k more bytes follow it.
 * past_stripe[k][b]: what byte k of the register, being b, is after STRIPE zero bytes. */
static uint32_t by_byte[8][256], past_stripe[4][256];

static uint32_t slice(uint32_t crc, const unsigned char *p, size_t n)
{
    for (; n >= 8; p += 8, n -= 8) {
        uint32_t low = le_u32(p) ^ crc, high = le_u32(p + 4);
        crc = by_byte[7][low & 0xFF] ^ by_byte[6][low >> 8 & 0xFF] ^ by_byte[5][low >> 16 & 0xFF] ^
              by_byte[4][low >> 24] ^ by_byte[3][high & 0xFF] ^ by_byte[2][high >> 8 & 0xFF] ^
              by_byte[1][high >> 16 & 0xFF] ^ by_byte[0][high >> 24];
    }
    while (n--)
        crc = crc >> 8 ^ by_byte[0][(crc ^ *p++) & 0xFF];
    return crc;
}

#ifdef __x86_64__
static uint32_t skip_stripe(uint32_t crc)
{
    return past_stripe[0][crc & 0xFF] ^ past_stripe[1][crc >> 8 & 0xFF] ^
           past_stripe[2][crc >> 16 & 0xFF] ^ past_stripe[3][crc >> 24];
}

__attribute__((target("sse4.2"))) static uint32_t hardware(uint32_t crc, const unsigned char *p,
                                                           size_t n)
{
    uint64_t a = crc;
    for (; n >= 3 * STRIPE; p += 3 * STRIPE, n -= 3 * STRIPE) {
        uint64_t b = 0, c = 0;
        for (size_t i = 0; i < STRIPE; i += 8) {
            a = __builtin_ia32_crc32di(a, le_u64(p + i));
            b = __builtin_ia32_crc32di(b, le_u64(p + STRIPE + i));
            c = __builtin_ia32_crc32di(c, le_u64(p + 2 * STRIPE + i));
        }
        a = skip_stripe(skip_stripe((uint32_t)a) ^ (uint32_t)b) ^ c;
    }
    for (; n >= 8; p += 8, n -= 8)
        a = __builtin_ia32_crc32di(a, le_u64(p));
    crc = (uint32_t)a;
    while (n--)
        crc = __builtin_ia32_crc32qi(crc, *p++);
    return crc;
}
#endif

static uint32_t (*engine)(uint32_t crc, const unsigned char *p, size_t n) = slice;

/* Before main, so that threads find the tables complete. */
__attribute__((constructor)) static void prepare(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        by_byte[0][b] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++)
            by_byte[k][b] = by_byte[k - 1][b] >> 8 ^ by_byte[0][by_byte[k - 1][b] & 0xFF];
    static const unsigned char zeros[STRIPE];
    for (int k = 0; k < 4; k++)
        for (int bit = 0; bit < 8; bit++)
            past_stripe[k][1 << bit] = slice((uint32_t)1 << (8 * k + bit), zeros, STRIPE);
    for (int k = 0; k < 4; k++) /* the map is linear: the bits of b give the rest */
        for (int b = 1; b < 256; b++)
            past_stripe[k][b] = past_stripe[k][b & (b - 1)] ^ past_stripe[k][b & -b];
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2"))
        engine = hardware;
#endif
}

uint32_t crc32c(uint32_t crc, const void *bytes, size_t n)
{
    return ~engine(~crc, bytes, n);
}

uint32_t crc32c_portable(uint32_t crc, const void *bytes, size_t n)
{
    return ~slice(~crc, bytes, n);
}

const char *crc32c_path(void)
{
    return engine == slice ? "portable" : "sse4.2";
}
