#include "unicode/unicode.h"

#include <pthread.h>

enum { BLOCK = 16, BLOCKS = UNICODE_LIMIT / BLOCK };

static const struct unicode_record *record_at(size_t block, size_t i)
{
    return unicode_records + unicode_entries[unicode_blocks[block] * BLOCK + i];
}

void unicode_each(unsigned sets, void (*take)(void *ctx, uint32_t code_point), void *ctx)
{
    int barren = -1; /* last block without a match: equal blocks often follow each other */
    for (size_t b = 0; b < BLOCKS; b++) {
        if (unicode_blocks[b] == barren)
            continue;
        int found = 0;
        for (size_t i = 0; i < BLOCK; i++) {
            if (!(record_at(b, i)->is & sets))
                continue;
            take(ctx, (uint32_t)(b * BLOCK + i));
            found = 1;
        }
        if (!found)
            barren = unicode_blocks[b];
    }
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
            classes[i >> 2] |= (uint8_t)(class_of(record_at(b, i)) << (i & 3) * 2);
    }
}

const uint8_t *unicode_classes(void)
{
    pthread_once(&table_once, make_table);
    return (const uint8_t *)table;
}
