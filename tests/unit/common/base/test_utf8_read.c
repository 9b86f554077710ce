/* Characters of any bytes: what is no character of Unicode is read byte by byte. */
#include <criterion/criterion.h>

#include <string.h>

#include "common/base/utf8.h"

Test(utf8_read, code_points_end_at_10ffff)
{
    unsigned c;
    cr_expect(utf8_read("\xF4\x8F\xBF\xBF", 4, &c) == 4 && c == 0x10FFFF);
    cr_expect(utf8_read("\xF4\x90\x80\x80", 4, &c) == 1 && c == 0xF4);
    cr_expect(utf8_read("\xF4\x8F\xBF", 3, &c) == 1 && c == 0xF4);
    cr_expect(utf8_read("\xED\xA0\x80", 3, &c) == 3 && c == 0xD800);
}

Test(utf8_count, each_character_counts_once_wherever_it_begins)
{
    static const char *const characters[] = { "a", "\xC3\xA9", "\xE6\xBC\xA2", "\xF0\x9F\x98\x80" };
    char text[128];
    for (size_t first = 0; first < 4; first++) {
        size_t n = 0;
        for (size_t count = 0; count < 25; count++) {
            cr_assert_eq(utf8_count(text, n), count, "%zu bytes", n);
            const char *c = characters[(first + count) % 4];
            memcpy(text + n, c, strlen(c));
            n += strlen(c);
        }
    }
}
