#include "unicode/classes.h"

#include "unicode/unicode.h"

static void add(struct classes_set *s, uint32_t c)
{
    s->bits[c >> 3] |= (uint8_t)(1 << (c & 7));
}

int classes_category(struct classes_set *s, const char *name, size_t n)
{
    static const char names[] = "LuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCoCn";
    uint64_t wanted = 0;
    for (unsigned i = 0; i < sizeof names / 2; i++)
        if ((n == 1 || n == 2) && !memcmp(names + 2 * i, name, n))
            wanted |= (uint64_t)1 << i;
    memset(s, 0, sizeof *s);
    for (uint32_t c = 0; c < UNICODE_LIMIT && wanted; c++)
        if (wanted >> unicode_of(c)->category & 1)
            add(s, c);
    return wanted ? 0 : -1;
}

/* Sets *s to the characters in these sets. */
static void set_to(struct classes_set *s, unsigned sets)
{
    memset(s, 0, sizeof *s);
    for (uint32_t c = 0; (c = unicode_next(sets, c)) < UNICODE_LIMIT; c++)
        add(s, c);
}

void classes_word_set(struct classes_set *s, int in_brackets)
{
    static const unsigned char alone[] = { 0xB2, 0xB3, 0xB9, 0xBC, 0xBD, 0xBE };
    set_to(s, UNICODE_IS_REGEX_WORD);
    for (size_t i = 0; i < sizeof alone && in_brackets; i++)
        s->bits[alone[i] >> 3] &= (uint8_t) ~(1 << (alone[i] & 7));
}

void classes_space_set(struct classes_set *s)
{
    set_to(s, UNICODE_IS_SPACE);
}
