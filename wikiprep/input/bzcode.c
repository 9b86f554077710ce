#include "wikiprep/input/bzcode.h"

static void sort_symbols(struct bzcode *c, const uint8_t *lengths, int symbols)
{
    int n = 0;
    for (unsigned length = 1; length <= BZCODE_LENGTH_MAX; length++)
        for (int s = 0; s < symbols; s++)
            if (lengths[s] == length)
                c->sorted[n++] = (uint16_t)s;
}

static unsigned entry(unsigned symbol, unsigned length)
{
    return symbol < 2 ? (symbol + 1) << 8 | length : (symbol - 1) << 8 | BZCODE_PLACE | length;
}

int bzcode_make(struct bzcode *c, const uint8_t *lengths, int symbols)
{
    unsigned of_length[BZCODE_LENGTH_MAX + 1] = { 0 };
    for (int s = 0; s < symbols; s++)
        of_length[lengths[s]]++;
    sort_symbols(c, lengths, symbols);
    memset(c->fast, 0, sizeof c->fast);
    uint32_t word = 0, place = 0;
    for (unsigned length = 1; length <= BZCODE_LENGTH_MAX; length++) {
        word <<= 1;
        if (word + of_length[length] > 1u << length)
            return -1;
        c->first[length] = (uint16_t)(place - word);
        for (unsigned i = 0; i < of_length[length]; i++, word++, place++) {
            int is_end = c->sorted[place] == symbols - 1;
            unsigned copies = length <= BZCODE_FAST && !is_end ? 1u << (BZCODE_FAST - length) : 0;
            for (unsigned k = 0; k < copies; k++)
                c->fast[(word << (BZCODE_FAST - length)) + k] = (uint16_t)entry(c->sorted[place],
                                                                                length);
        }
        c->limit[length] = word << (BZCODE_LENGTH_MAX - length);
    }
    return 0;
}

unsigned bzcode_find(const struct bzcode *c, uint64_t bits)
{
    uint32_t top = (uint32_t)(bits >> (64 - BZCODE_LENGTH_MAX));
    for (unsigned length = 1; length <= BZCODE_LENGTH_MAX; length++)
        if (top < c->limit[length]) {
            uint16_t place = (uint16_t)(c->first[length] + (top >> (BZCODE_LENGTH_MAX - length)));
            return entry(c->sorted[place], length);
        }
    return 0;
}
