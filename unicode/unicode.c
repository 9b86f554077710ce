#include "unicode/unicode.h"

#include <pthread.h>

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
