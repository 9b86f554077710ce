#include "common/base/base64.h"

static int base64_digit(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

int base64_decode(struct buf *out, const char *s, size_t n)
{
    if (!n || n % 4)
        return -1;
    for (size_t i = 0; i < n; i += 4) {
        int pad = i + 4 < n ? 0 : (s[i + 3] == '=') + (s[i + 3] == '=' && s[i + 2] == '=');
        uint32_t bits = 0;
        for (size_t k = 0; k < 4; k++) {
            int digit = (int)k >= 4 - pad ? 0 : base64_digit(s[i + k]);
            if (digit < 0)
                return -1;
            bits = bits << 6 | (uint32_t)digit;
        }
        for (int k = 0; k < 3 - pad; k++)
            buf_addc(out, (int)(bits >> (16 - 8 * k) & 0xFF));
        if (pad && bits & ((1u << 8 * pad) - 1))
            return -1;
    }
    return 0;
}

void base64_print(struct buf *out, const char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)bytes;
    for (size_t i = 0; i < n; i += 3) {
        unsigned bits = (unsigned)p[i] << 16;
        bits |= i + 1 < n ? (unsigned)p[i + 1] << 8 : 0;
        bits |= i + 2 < n ? p[i + 2] : 0;
        for (size_t k = 0; k < 4; k++)
            buf_addc(out, i + k > n ? '=' : digits[bits >> (18 - 6 * k) & 63]);
    }
}
