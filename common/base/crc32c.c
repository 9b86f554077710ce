#include "common/base/crc32c.h"

#include "common/base/le.h"

/* Instructions that add 8 bytes or one byte to the CRC, and the product of two polynomials. */
#if defined(__x86_64__)
#include <immintrin.h>
#define HARDWARE __attribute__((target("sse4.2,pclmul")))
#define NAME     "sse4.2"
#define CRC_8    __builtin_ia32_crc32di
#define CRC_1    __builtin_ia32_crc32qi
typedef uint64_t crc_word;

HARDWARE static uint64_t times(uint64_t a, uint32_t b)
{
    return (uint64_t)_mm_cvtsi128_si64(
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)a), _mm_cvtsi32_si128((int32_t)b), 0));
}
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <arm_neon.h>
#include <sys/auxv.h>
#define HARDWARE __attribute__((target("+crc+crypto")))
#define NAME     "crc32"
#define CRC_8    __crc32cd
#define CRC_1    __crc32cb
typedef uint32_t crc_word;

HARDWARE static uint64_t times(uint64_t a, uint32_t b)
{
    return vgetq_lane_u64(vreinterpretq_u64_p128(vmull_p64(a, b)), 0);
}
#endif

/* 8-byte words per stripe: the smallest number for which three stripes are faster than one, and the
 * largest used. */
enum { STRIPE_MIN = 3, STRIPE_MAX = 128 };

static const uint32_t POLYNOMIAL = 0x82F63B78u;

/* by_byte[k][b]: the effect of byte b on the CRC register when k more bytes follow it.
 * past_words[k]: the polynomial x^(64 k - 33); see `past`. */
static uint32_t by_byte[8][256], past_words[2 * STRIPE_MAX + 1];

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

#ifdef HARDWARE
/* Returns the CRC register after `words` zero words, as a polynomial that is not yet divided by
 * that of the CRC (the CRC instruction does that). The exponents in past_words account for two
 * shifts: the product of two reflected polynomials is x times too large, and the instruction
 * multiplies by x^32. */
HARDWARE static uint64_t past(crc_word crc, size_t words)
{
    return times(crc, past_words[words]);
}

/* Returns the CRC register a after the 3 * `words` words at p. They are processed as three stripes
 * at the same time. */
HARDWARE static crc_word three(crc_word a, const unsigned char *p, size_t words)
{
    crc_word b = 0, c = 0;
    const unsigned char *q = p + 8 * words, *r = q + 8 * words;
    for (size_t i = 0; i < 8 * words; i += 8) {
        a = CRC_8(a, le_u64(p + i));
        b = CRC_8(b, le_u64(q + i));
        c = CRC_8(c, le_u64(r + i));
    }
    return CRC_8(0, past(a, 2 * words) ^ past(b, words)) ^ c;
}

HARDWARE static uint32_t hardware(uint32_t start, const unsigned char *p, size_t n)
{
    crc_word a = start;
    for (size_t words; (words = n / 24) >= STRIPE_MIN; p += 24 * words, n -= 24 * words) {
        words = words < STRIPE_MAX ? words : STRIPE_MAX;
        a = three(a, p, words);
    }
    for (; n >= 8; p += 8, n -= 8)
        a = CRC_8(a, le_u64(p));
    uint32_t crc = (uint32_t)a;
    while (n--)
        crc = CRC_1(crc, *p++);
    return crc;
}

static int has_hardware(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
#else
    const unsigned long needed = HWCAP_CRC32 | HWCAP_PMULL;
    return (getauxval(AT_HWCAP) & needed) == needed;
#endif
}
#endif

static uint32_t (*engine)(uint32_t crc, const unsigned char *p, size_t n) = slice;

/* Fills the tables. Runs before main, so that threads find them complete. */
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
    static const unsigned char zeros[8];
    past_words[1] = 1; /* x^31, reflected */
    for (int k = 2; k <= 2 * STRIPE_MAX; k++)
        past_words[k] = slice(past_words[k - 1], zeros, sizeof zeros);
#ifdef HARDWARE
    if (has_hardware())
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
#ifdef HARDWARE
    if (engine == hardware)
        return NAME;
#endif
    return "portable";
}
