#include "tokenizer/model/alphabet.h"

#include "common/base/utf8.h"

enum { FIRST_SHIFTED = 0x100 };

static int prints(unsigned b)
{
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
}

unsigned alphabet_char(unsigned char byte)
{
    if (prints(byte))
        return byte;
    unsigned k = byte <= 32 ? byte : byte <= 160 ? 33 + (byte - 127u) : 67;
    return FIRST_SHIFTED + k; /* k: its index among bytes that do not print */
}

/* Returns the byte for which the code point c stands, or -1 if it is not in the alphabet. */
static int alphabet_byte(unsigned c)
{
    if (c < FIRST_SHIFTED)
        return prints(c) ? (int)c : -1;
    if (c >= ALPHABET_LIMIT)
        return -1;
    unsigned k = c - FIRST_SHIFTED; /* its index among bytes that do not print */
    return (int)(k <= 32 ? k : k <= 66 ? 127 + (k - 33) : 173);
}

void alphabet_encode(struct buf *out, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        utf8_add(out, alphabet_char((unsigned char)bytes[i]));
}

size_t alphabet_width(const char *bytes, size_t n)
{
    size_t width = 0;
    for (size_t i = 0; i < n; i++)
        width += alphabet_char((unsigned char)bytes[i]) < 0x80 ? 1 : 2;
    return width;
}

int alphabet_decode(struct buf *out, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    buf_reserve(out, n);
    char *to = out->data + out->len;
    for (size_t i = 0; i < n; i++) {
        unsigned c = p[i];
        int byte = -1;
        if (c < 0x80)
            byte = alphabet_byte(c);
        else if (c >= 0xC2 && c < 0xE0 && i + 1 < n && (p[i + 1] & 0xC0) == 0x80)
            byte = alphabet_byte((c & 0x1F) << 6 | (p[++i] & 0x3Fu));
        if (byte < 0) { /* longer characters are not in the alphabet */
            buf_truncate(out, out->len);
            return -1;
        }
        *to++ = (char)byte;
    }
    out->len = (size_t)(to - out->data);
    out->data[out->len] = '\0';
    return 0;
}

int alphabet_named(const char *name, size_t n)
{
    return n == 6 && !memcmp(name, "<0x", 3) && name[5] == '>' ? hex_value(name + 3, 2, 2) : -1;
}
