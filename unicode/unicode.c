#include "unicode/unicode.h"

#include <pthread.h>

enum { BLOCK = 16, BLOCKS = UNICODE_LIMIT / BLOCK };

uint32_t unicode_next(unsigned sets, uint32_t from)
{
    int barren = -1; /* the last block without a match: many blocks are equal to it */
    for (uint32_t c = from; c < UNICODE_LIMIT; c++) {
        if (unicode_is(c, sets))
            return c;
        if (c % BLOCK == 0 && unicode_blocks[c / BLOCK] == barren)
            c += BLOCK - 1;
        else if (c % BLOCK == BLOCK - 1 && c - from >= BLOCK - 1)
            barren = unicode_blocks[c / BLOCK];
    }
    return UNICODE_LIMIT;
}

uint32_t unicode_script(uint32_t code_point)
{
    const struct unicode_script_run *run = unicode_run(
        unicode_script_runs, unicode_script_run_count, sizeof *run, code_point);
    return run && code_point - run->first < run->count ? run->script : UNICODE_COMMON;
}

int unicode_digit(uint32_t code_point)
{
    uint32_t zero = code_point;
    if (unicode_of(code_point)->category != UNICODE_ND)
        return -1;
    while (unicode_of(zero - 1)->category == UNICODE_ND)
        zero--;
    return (int)(code_point - zero) % 10; /* several scripts' digits may follow each other */
}

static uint32_t table[BLOCKS]; /* by block: the classes of its 16 code points */
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static enum unicode_class class_of(const struct unicode_record *r)
{
    if (r->is & UNICODE_IS_SPACE)
        return UNICODE_SPACE;
    if (r->category <= UNICODE_LO)
        return UNICODE_LETTER;
    return r->category >= UNICODE_ND && r->category <= UNICODE_NO ? UNICODE_NUMBER : UNICODE_OTHER;
}

static void make_table(void)
{
    for (size_t b = 0; b < BLOCKS; b++) {
        if (b && unicode_blocks[b] == unicode_blocks[b - 1]) {
            table[b] = table[b - 1];
            continue;
        }
        uint8_t *classes = (uint8_t *)&table[b];
        for (size_t i = 0; i < BLOCK; i++)
            classes[i >> 2] |= (uint8_t)(class_of(unicode_of((uint32_t)(b * BLOCK + i)))
                                         << (i & 3) * 2);
    }
}

const uint8_t *unicode_classes(void)
{
    pthread_once(&table_once, make_table);
    return (const uint8_t *)table;
}
