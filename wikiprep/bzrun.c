#include "wikiprep/bzrun.h"

#include <string.h>

#include "wikiprep/bzbits.h"

/* ---- runs ---------------------------------------------------------------------------------- */

typedef uint8_t row __attribute__((vector_size(16)));

static row load(const uint8_t *p)
{
    row r;
    memcpy(&r, p, sizeof r);
    return r;
}

/* Whether any of 16 bytes is equal to the next three. */
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

static uint32_t table[8][256];

/* Before main, so that threads find the tables complete. */
__attribute__((constructor)) static void prepare(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i << 24;
        for (int k = 0; k < 8; k++)
            c = c << 1 ^ (c >> 31 ? 0x04C11DB7 : 0);
        table[0][i] = c;
    }
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < 256; i++) {
            uint32_t c = table[t - 1][i];
            table[t][i] = c << 8 ^ table[0][c >> 24];
        }
}

uint32_t bzrun_crc(uint32_t crc, const uint8_t *p, size_t n)
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
