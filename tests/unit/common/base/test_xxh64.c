/* XXH64: values of the library xxhash 0.8, through Python's module. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/xxh64.h"

Test(xxh64, known_values)
{
    static const struct {
        const char *text;
        uint64_t plain, seeded; /* with seed 7 */
    } cases[] = {
        { "", UINT64_C(0xEF46DB3751D8E999), UINT64_C(0x95F0626F6F0A4409) },
        { "a", UINT64_C(0xD24EC4F1A98C6E5B), UINT64_C(0xDC6349D489E0F965) },
        { "abc", UINT64_C(0x44BC2CF5AD770999), UINT64_C(0x9E755206156676D7) },
        { "abcd", UINT64_C(0xDE0327B0D25D92CC), UINT64_C(0x7B60AF3895A9F4A9) },
        { "12345678", UINT64_C(0xD2D02F08CF7CFD4A), UINT64_C(0xDE04D6794DDCD8A6) },
        { "The Moon goes around the Earth, and both around the Sun.", UINT64_C(0x17694E318C74E700),
          UINT64_C(0x70AB2AC08C566F60) },
    };
    unsigned char bytes[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect(xxh64(cases[i].text, strlen(cases[i].text), 0) == cases[i].plain, "%zu", i);
        cr_expect(xxh64(cases[i].text, strlen(cases[i].text), 7) == cases[i].seeded, "%zu", i);
    }
    for (int i = 0; i < 256; i++)
        bytes[i] = (unsigned char)i;
    cr_expect(xxh64(bytes, 256, 0) == UINT64_C(0x1FACBE8406CD904B));
}
