/* Characters of any bytes: what is no character of Unicode is read byte by byte. */
#include <criterion/criterion.h>

#include "common/base/utf8.h"

Test(utf8_read, code_points_end_at_10ffff)
{
    unsigned c;
    cr_expect(utf8_read("\xF4\x8F\xBF\xBF", 4, &c) == 4 && c == 0x10FFFF);
    cr_expect(utf8_read("\xF4\x90\x80\x80", 4, &c) == 1 && c == 0xF4);
    cr_expect(utf8_read("\xF4\x8F\xBF", 3, &c) == 1 && c == 0xF4);
    cr_expect(utf8_read("\xED\xA0\x80", 3, &c) == 3 && c == 0xD800);
}
