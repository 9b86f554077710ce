#include "textclean/normal.h"

#include "common/base/le.h"
#include "common/base/utf8.h"
#include "textclean/chunk.h"
#include "unicode/forms.h"
#include "unicode/letter_case.h"
#include "unicode/unicode.h"
#include "unicode/whitespace.h"

/* ---- ASCII ----------------------------------------------------------------------------------- */

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns 1 if the three bytes at s are a dash, a typographic quote or an ellipsis. */
static int is_wide_mark(const unsigned char *s)
{
    return s[0] == 0xE2 && s[1] == 0x80 &&
           (s[2] == 0x93 || s[2] == 0x94 || s[2] == 0x99 || (s[2] >= 0x9C && s[2] <= 0x9E) ||
            s[2] == 0xA6);
}

/* Returns the end of the number at text[i]. */
static size_t ascii_number(const char *text, size_t n, size_t i)
{
    while (i < n && is_digit(text[i]))
        i++;
    if (i + 1 < n && (text[i] == '.' || text[i] == ',') && is_digit(text[i + 1]))
        for (i++; i < n && is_digit(text[i]); i++)
            ;
    return i;
}

/* Appends the normal form of text[0..n) up to the first chunk (text between white space) that has a
 * character outside of ASCII, except marks. Returns the bytes read. */
static size_t add_ascii(struct normal *t, const char *text, size_t n)
{
    struct buf *out = &t->text;
    buf_reserve(out, n + 9);
    char *to = out->data + out->len, *begin = out->data, *chunk = to;
    size_t i = 0, chunk_at = 0;
    while (i < n) {
        char c = text[i];
        int letter = (unsigned char)((c | 0x20) - 'a') < 26;
        if (letter && i + 8 <= n) { /* up to eight letters at a time */
            uint64_t x = le_u64((const unsigned char *)text + i);
            size_t letters = chunk_letters(x);
            le_put_u64(to, x | UINT64_C(0x2020202020202020));
            to += letters;
            i += letters;
        } else if (letter) {
            *to++ = (char)(c | 0x20);
            i++;
        } else if (is_digit(c)) {
            i = ascii_number(text, n, i);
            *to++ = '0';
        } else {
            int wide = (unsigned char)c >= 0x80;
            if (wide && (i + 2 >= n || !is_wide_mark((const unsigned char *)text + i))) {
                to = chunk;
                i = chunk_at;
                break;
            }
            if (to > begin && to[-1] != ' ')
                *to++ = ' ';
            i += wide ? 3 : 1; /* all else of ASCII is punctuation or white space */
            if (c == ' ' || c == '\n') {
                chunk = to;
                chunk_at = i;
            }
        }
    }
    out->len = (size_t)(to - out->data);
    out->data[out->len] = '\0';
    return i;
}

/* ---- all characters -------------------------------------------------------------------------- */

static size_t skip_digits(const char *s, size_t n, size_t at)
{
    unsigned c;
    for (size_t k; at < n; at += k) {
        k = utf8_read(s + at, n - at, &c);
        if (unicode_of(c)->category != UNICODE_ND)
            break;
    }
    return at;
}

static size_t number_end(const char *s, size_t n, size_t at)
{
    unsigned c;
    at = skip_digits(s, n, at);
    size_t k = at < n ? utf8_read(s + at, n - at, &c) : 0;
    if (!k || (c != '.' && c != ',' && c != 0x60C && c != 0x66B && (c < 0x2396 || c > 0x2398)))
        return at; /* no separator */
    size_t end = skip_digits(s, n, at + k);
    return end > at + k ? end : at;
}

/* Appends s[0..n), which is in lower case, with numbers, punctuation and white space replaced. */
static void add_plain(struct buf *out, const char *s, size_t n)
{
    unsigned c;
    for (size_t at = 0, k; at < n; at += k) {
        k = utf8_read(s + at, n - at, &c);
        if (unicode_of(c)->category == UNICODE_ND) {
            k = number_end(s, n, at) - at;
            buf_addc(out, '0');
        } else if (!unicode_is(c, UNICODE_IS_CCNET_PUNCTUATION) && !whitespace_at(s + at, n - at)) {
            buf_add(out, s + at, k);
        } else if (out->len && out->data[out->len - 1] != ' ') {
            buf_addc(out, ' ');
        }
    }
}

/* Appends the chunk s[0..n). */
static void add_chunk(struct normal *t, const char *s, size_t n)
{
    buf_clear(&t->valid);
    buf_clear(&t->lower);
    buf_clear(&t->plain);
    if (utf8_valid(s, n) < n) {
        utf8_repair(&t->valid, s, n);
        s = t->valid.data;
        n = t->valid.len;
    }
    letter_case_put(&t->lower, s, n, letter_case_lower);
    add_plain(&t->plain, t->lower.data, t->lower.len);
    buf_clear(&t->lower);
    forms_normalize(&t->lower, t->plain.data, t->plain.len, FORM_NFD);
    forms_drop(&t->text, t->lower.data, t->lower.len, UNICODE_IS_GOOGLE_NON_SPACING);
}

void normal_init(struct normal *t)
{
    *t = (struct normal){ .text = BUF_INIT, .valid = BUF_INIT, .lower = BUF_INIT };
    buf_init(&t->plain);
}

void normal_release(struct normal *t)
{
    buf_release(&t->text);
    buf_release(&t->valid);
    buf_release(&t->lower);
    buf_release(&t->plain);
}

void normal_set(struct normal *t, const char *text, size_t n)
{
    buf_clear(&t->text);
    for (size_t at = 0; at < n;) {
        at += add_ascii(t, text + at, n - at);
        size_t end = at;
        while (end < n && text[end] != ' ' && text[end] != '\n')
            end++;
        if (end > at)
            add_chunk(t, text + at, end - at);
        at = end;
    }
    buf_rtrim(&t->text);
}
