/* The byte alphabet of GPT-2's files, beside its definition, and names such as <0x0A>. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/utf8.h"
#include "tokenizer/model/alphabet.h"

/* Of 256 bytes 188 stand for themselves; the others are U+0100, U+0101, ... in order. */
Test(alphabet, each_byte_by_its_definition)
{
    SCOPED(buf) all = BUF_INIT, back = BUF_INIT;
    unsigned others = 0;
    char bytes[256];
    for (unsigned b = 0; b < 256; b++) {
        const int prints = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
        SCOPED(buf) one = BUF_INIT, want = BUF_INIT;
        const unsigned c = prints ? b : 0x100 + others++;
        bytes[b] = (char)b;
        cr_expect_eq(alphabet_char((unsigned char)b), c, "byte %u", b);
        utf8_add(&want, c);
        alphabet_encode(&one, &bytes[b], 1);
        cr_expect_str_eq(one.data, want.data, "byte %u", b);
        cr_expect_eq(alphabet_width(&bytes[b], 1), want.len, "byte %u", b);
    }
    cr_expect_eq(others, 68);
    alphabet_encode(&all, bytes, 256);
    cr_expect_eq(alphabet_width(bytes, 256), all.len);
    buf_adds(&back, "x");
    cr_assert_eq(alphabet_decode(&back, all.data, all.len), 0);
    cr_expect(back.len == 257 && !memcmp(back.data + 1, bytes, 256));
}

/* Characters between and behind those of the alphabet; the text so far stays. */
Test(alphabet, characters_that_are_in_none)
{
    static const char *const texts[] = { " ",      "a\n",    "\x7F",   "\xC2\x80", "\u00A0",
                                         "\u00AD", "\u0144", "\u4E2D", "a\xC3",    "\xC3(" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        SCOPED(buf) out = BUF_INIT;
        buf_adds(&out, "x");
        cr_expect_eq(alphabet_decode(&out, texts[i], strlen(texts[i])), -1, "text %zu", i);
        cr_expect_str_eq(out.data, "x", "text %zu", i);
    }
}

Test(alphabet, names_of_bytes)
{
    static const char *const none[] = { "",       "<0x0>",  "<0x0AB>", "<0x0A)", "(0x0A>",
                                        "<0y0A>", "<0xG0>", "<0x0G>",  "<0x 1>" };
    cr_expect(alphabet_named("<0x00>", 6) == 0 && alphabet_named("<0x0A>", 6) == 10);
    cr_expect(alphabet_named("<0x9F>", 6) == 0x9F && alphabet_named("<0xFF>", 6) == 0xFF);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_expect_eq(alphabet_named(none[i], strlen(none[i])), -1, "%s", none[i]);
}
