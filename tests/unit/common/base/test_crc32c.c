/* CRC32C: known values (RFC 3720, B.4), and the two implementations compared with each other. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/rng.h"

Test(crc32c, known_vectors)
{
    unsigned char bytes[32] = { 0 };
    cr_expect_eq(crc32c(0, "", 0), 0);
    cr_expect_eq(crc32c(0, "123456789", 9), 0xE3069283u);
    cr_expect_eq(crc32c(0, bytes, 8), 0x8C28B28Au);
    cr_expect_eq(crc32c(0, bytes, 32), 0x8A9136AAu);
    memset(bytes, 0xFF, sizeof bytes);
    cr_expect_eq(crc32c(0, bytes, 32), 0x62A8AB43u);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    cr_expect_eq(crc32c(0, bytes, 32), 0x46DD794Eu);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)(31 - i);
    cr_expect_eq(crc32c(0, bytes, 32), 0x113FDB5Cu);
}

Test(crc32c, masked)
{
    cr_expect_eq(crc32c_mask(crc32c(0, "", 0)), 0xA282EAD8u);
    cr_expect_eq(crc32c_mask(crc32c(0, "\0\0\0\0\0\0\0\0", 8)), 0x07980329u);
}

/* Returns the CRC32C of p[n] by its definition, bit by bit. */
static uint32_t plain(const unsigned char *p, size_t n)
{
    uint32_t crc = ~0u;
    while (n--) {
        crc ^= *p++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    }
    return ~crc;
}

Test(crc32c, both_paths_equal_the_definition_at_every_length_and_alignment)
{
    unsigned char bytes[4096 + 8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)rng_at(7, i);
    for (size_t n = 0; n < 4096; n += n < 800 ? 1 : 61) {
        uint32_t want = plain(bytes + n % 8, n);
        cr_assert_eq(crc32c(0, bytes + n % 8, n), want, "%zu bytes", n);
        cr_assert_eq(crc32c_portable(0, bytes + n % 8, n), want, "%zu bytes", n);
    }
}

Test(crc32c, pieces_give_the_whole)
{
    unsigned char bytes[3000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)rng_at(8, i);
    uint32_t whole = crc32c(0, bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut += 37)
        cr_assert_eq(crc32c(crc32c(0, bytes, cut), bytes + cut, sizeof bytes - cut), whole);
}
