#include "tokenizer/unicode.h"

#include <pthread.h>
#include <string.h>

static uint8_t table[UNICODE_LIMIT / 4];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void put_class(const struct unicode_range *r, enum unicode_class class)
{
    for (; r->first <= r->last; r++)
        for (uint32_t c = r->first; c <= r->last; c++)
            table[c >> 2] |= (uint8_t)(class << (c & 3) * 2);
}

static void make_table(void)
{
    put_class(unicode_letters, UNICODE_LETTER);
    put_class(unicode_numbers, UNICODE_NUMBER);
    put_class(unicode_spaces, UNICODE_SPACE);
}

const uint8_t *unicode_classes(void)
{
    pthread_once(&table_once, make_table);
    return table;
}

/* ---- UTF-8 -------------------------------------------------------------------------------- */

static size_t ascii_prefix(const unsigned char *p, size_t n)
{
    size_t i = 0;
    for (; n - i >= 32; i += 32) {
        uint64_t w[4];
        memcpy(w, p + i, sizeof w);
        if ((w[0] | w[1] | w[2] | w[3]) & 0x8080808080808080u)
            break;
    }
    while (i < n && p[i] < 0x80)
        i++;
    return i;
}

/* Bytes of the character at p[0..n), n > 0; if it is none, 0, and *bad becomes the length of the
 * maximal subpart: the longest start of a character, at least one byte. Table 3-7 of the Unicode
 * standard, "well-formed UTF-8 byte sequences". */
static size_t utf8_length(const unsigned char *p, size_t n, size_t *bad)
{
    unsigned char c = p[0], low = 0x80, high = 0xBF;
    size_t want;
    *bad = 1;
    if (c < 0x80)
        return 1;
    if (c < 0xC2 || c > 0xF4)
        return 0;
    want = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (c == 0xE0)
        low = 0xA0;
    else if (c == 0xED)
        high = 0x9F;
    else if (c == 0xF0)
        low = 0x90;
    else if (c == 0xF4)
        high = 0x8F;
    for (size_t i = 1; i < want; i++, low = 0x80, high = 0xBF) {
        if (i >= n || p[i] < low || p[i] > high) {
            *bad = i;
            return 0;
        }
    }
    return want;
}

static size_t valid_by_character(const unsigned char *p, size_t n)
{
    size_t i = 0, bad;
    for (;;) {
        i += ascii_prefix(p + i, n - i);
        for (; i < n && p[i] >= 0x80;) {
            size_t len = utf8_length(p + i, n - i, &bad);
            if (!len)
                return i;
            i += len;
        }
        if (i == n)
            return n;
    }
}

/* The same as an automaton, for text that is well-formed but for exceptions. A byte's row has, at the
 * bit that is a state's number, the number of the next state: one shift a byte. */
enum {
    START = 0, /* between characters */
    ERROR = 6,
    TAIL_1 = 12, /* so many bytes 80-BF are to come */
    TAIL_2 = 18,
    TAIL_3 = 24,
    AFTER_E0 = 30, /* A0-BF and another */
    AFTER_ED = 36, /* 80-9F and another */
    AFTER_F0 = 42, /* 90-BF and two more */
    AFTER_F4 = 48, /* 80-8F and two more */
};

#define TO(from, state) ((uint64_t)(state) << (from))
#define LEAD(state)                                                                             \
    (TO(START, state) | TO(ERROR, ERROR) | TO(TAIL_1, ERROR) | TO(TAIL_2, ERROR) |              \
     TO(TAIL_3, ERROR) | TO(AFTER_E0, ERROR) | TO(AFTER_ED, ERROR) | TO(AFTER_F0, ERROR) |      \
     TO(AFTER_F4, ERROR))
#define TAIL(e0, ed, f0, f4)                                                                    \
    (TO(START, ERROR) | TO(ERROR, ERROR) | TO(TAIL_1, START) | TO(TAIL_2, TAIL_1) |             \
     TO(TAIL_3, TAIL_2) | TO(AFTER_E0, e0) | TO(AFTER_ED, ed) | TO(AFTER_F0, f0) |              \
     TO(AFTER_F4, f4))

static const uint64_t rows[256] = {
    [0x00 ... 0x7F] = LEAD(START),
    [0x80 ... 0x8F] = TAIL(ERROR, TAIL_1, ERROR, TAIL_2),
    [0x90 ... 0x9F] = TAIL(ERROR, TAIL_1, TAIL_2, ERROR),
    [0xA0 ... 0xBF] = TAIL(TAIL_1, ERROR, TAIL_2, ERROR),
    [0xC0 ... 0xC1] = LEAD(ERROR),
    [0xC2 ... 0xDF] = LEAD(TAIL_1),
    [0xE0] = LEAD(AFTER_E0),
    [0xE1 ... 0xEC] = LEAD(TAIL_2),
    [0xED] = LEAD(AFTER_ED),
    [0xEE ... 0xEF] = LEAD(TAIL_2),
    [0xF0] = LEAD(AFTER_F0),
    [0xF1 ... 0xF3] = LEAD(TAIL_3),
    [0xF4] = LEAD(AFTER_F4),
    [0xF5 ... 0xFF] = LEAD(ERROR),
};

size_t utf8_valid(const char *text, size_t n)
{
    enum { STEP = 64, STATE_MASK = 63 };
    const unsigned char *p = (const unsigned char *)text;
    size_t i = 0, good = 0; /* text[0..good) are whole characters */
    uint64_t state = START;
    for (; n - i >= STEP && state != ERROR; i += STEP) {
        if (state != START || ascii_prefix(p + i, STEP) < STEP)
            for (size_t k = 0; k < STEP; k++)
                state = rows[p[i + k]] >> (state & STATE_MASK);
        state &= STATE_MASK;
        if (state == START)
            good = i + STEP;
    }
    return good + valid_by_character(p + good, n - good);
}

void utf8_repair(struct buf *out, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    for (size_t i = 0; i < n;) {
        size_t good = utf8_valid(text + i, n - i), bad;
        buf_add(out, text + i, good);
        i += good;
        if (i == n)
            break;
        utf8_length(p + i, n - i, &bad);
        buf_adds(out, "\xEF\xBF\xBD");
        i += bad;
    }
}
