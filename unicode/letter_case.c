#include "unicode/letter_case.h"

#include "common/base/utf8.h"

static uint32_t find(const struct letter_case_run *runs, size_t count, uint32_t c)
{
    const struct letter_case_run *r = unicode_run(runs, count, sizeof *runs, c);
    const uint32_t distance = r ? c - r->first : 0;
    if (!r || distance % r->step || distance / r->step >= r->count)
        return c;
    return (uint32_t)((int32_t)c + r->delta);
}

unsigned letter_case_upper(unsigned c)
{
    if (c < 0x80)
        return c >= 'a' && c <= 'z' ? c - 0x20 : c;
    return find(letter_case_uppers, letter_case_uppers_count, c);
}

unsigned letter_case_lower(unsigned c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 0x20 : c;
    return find(letter_case_lowers, letter_case_lowers_count, c);
}

unsigned letter_case_lower_new(unsigned c)
{
    unsigned lower = letter_case_lower(c);
    return lower == c ? find(letter_case_laters, letter_case_laters_count, c) : lower;
}

unsigned letter_case_title(unsigned c)
{
    return c >= 0x10D0 && c <= 0x10FF ? c : letter_case_upper(c);
}

/* The letters whose upper case is several characters, in Unicode 14. */
/* clang-format off */
static const struct {
    unsigned c;
    const char *upper;
} uppers_of[] = {
    { 0xDF, "SS" }, { 0x149, "ʼN" }, { 0x1F0, "J̌" }, { 0x390, "Ϊ́" }, { 0x3B0, "Ϋ́" },
    { 0x587, "ԵՒ" }, { 0x1E96, "H̱" }, { 0x1E97, "T̈" }, { 0x1E98, "W̊" }, { 0x1E99, "Y̊" },
    { 0x1E9A, "Aʾ" }, { 0x1F50, "Υ̓" }, { 0x1F52, "Υ̓̀" }, { 0x1F54, "Υ̓́" }, { 0x1F56, "Υ̓͂" },
    { 0x1F80, "ἈΙ" }, { 0x1F81, "ἉΙ" }, { 0x1F82, "ἊΙ" }, { 0x1F83, "ἋΙ" }, { 0x1F84, "ἌΙ" },
    { 0x1F85, "ἍΙ" }, { 0x1F86, "ἎΙ" }, { 0x1F87, "ἏΙ" }, { 0x1F88, "ἈΙ" }, { 0x1F89, "ἉΙ" },
    { 0x1F8A, "ἊΙ" }, { 0x1F8B, "ἋΙ" }, { 0x1F8C, "ἌΙ" }, { 0x1F8D, "ἍΙ" }, { 0x1F8E, "ἎΙ" },
    { 0x1F8F, "ἏΙ" }, { 0x1F90, "ἨΙ" }, { 0x1F91, "ἩΙ" }, { 0x1F92, "ἪΙ" }, { 0x1F93, "ἫΙ" },
    { 0x1F94, "ἬΙ" }, { 0x1F95, "ἭΙ" }, { 0x1F96, "ἮΙ" }, { 0x1F97, "ἯΙ" }, { 0x1F98, "ἨΙ" },
    { 0x1F99, "ἩΙ" }, { 0x1F9A, "ἪΙ" }, { 0x1F9B, "ἫΙ" }, { 0x1F9C, "ἬΙ" }, { 0x1F9D, "ἭΙ" },
    { 0x1F9E, "ἮΙ" }, { 0x1F9F, "ἯΙ" }, { 0x1FA0, "ὨΙ" }, { 0x1FA1, "ὩΙ" }, { 0x1FA2, "ὪΙ" },
    { 0x1FA3, "ὫΙ" }, { 0x1FA4, "ὬΙ" }, { 0x1FA5, "ὭΙ" }, { 0x1FA6, "ὮΙ" }, { 0x1FA7, "ὯΙ" },
    { 0x1FA8, "ὨΙ" }, { 0x1FA9, "ὩΙ" }, { 0x1FAA, "ὪΙ" }, { 0x1FAB, "ὫΙ" }, { 0x1FAC, "ὬΙ" },
    { 0x1FAD, "ὭΙ" }, { 0x1FAE, "ὮΙ" }, { 0x1FAF, "ὯΙ" }, { 0x1FB2, "ᾺΙ" }, { 0x1FB3, "ΑΙ" },
    { 0x1FB4, "ΆΙ" }, { 0x1FB6, "Α͂" }, { 0x1FB7, "Α͂Ι" }, { 0x1FBC, "ΑΙ" }, { 0x1FC2, "ῊΙ" },
    { 0x1FC3, "ΗΙ" }, { 0x1FC4, "ΉΙ" }, { 0x1FC6, "Η͂" }, { 0x1FC7, "Η͂Ι" }, { 0x1FCC, "ΗΙ" },
    { 0x1FD2, "Ϊ̀" }, { 0x1FD3, "Ϊ́" }, { 0x1FD6, "Ι͂" }, { 0x1FD7, "Ϊ͂" }, { 0x1FE2, "Ϋ̀" },
    { 0x1FE3, "Ϋ́" }, { 0x1FE4, "Ρ̓" }, { 0x1FE6, "Υ͂" }, { 0x1FE7, "Ϋ͂" }, { 0x1FF2, "ῺΙ" },
    { 0x1FF3, "ΩΙ" }, { 0x1FF4, "ΏΙ" }, { 0x1FF6, "Ω͂" }, { 0x1FF7, "Ω͂Ι" }, { 0x1FFC, "ΩΙ" },
    { 0xFB00, "FF" }, { 0xFB01, "FI" }, { 0xFB02, "FL" }, { 0xFB03, "FFI" }, { 0xFB04, "FFL" },
    { 0xFB05, "ST" }, { 0xFB06, "ST" }, { 0xFB13, "ՄՆ" }, { 0xFB14, "ՄԵ" }, { 0xFB15, "ՄԻ" },
    { 0xFB16, "ՎՆ" }, { 0xFB17, "ՄԽ" },
};
/* clang-format on */

/* Returns the result of `change` for c if it is several characters, else NULL. */
static const char *special(unsigned c, unsigned (*change)(unsigned))
{
    if (change == letter_case_lower && c == 0x130)
        return "i̇";
    for (size_t i = 0; change == letter_case_upper && i < sizeof uppers_of / sizeof *uppers_of; i++)
        if (uppers_of[i].c == c)
            return uppers_of[i].upper;
    return NULL;
}

void letter_case_put(struct buf *out, const char *s, size_t n, unsigned (*change)(unsigned))
{
    for (size_t i = 0, len; i < n; i += len) {
        unsigned c;
        len = utf8_read(s + i, n - i, &c);
        if (len == 1 && c >= 0x80)
            buf_addc(out, (int)c); /* not valid UTF-8 */
        else if (c >= 0x80 && special(c, change))
            buf_adds(out, special(c, change));
        else
            utf8_add(out, change(c));
    }
}
