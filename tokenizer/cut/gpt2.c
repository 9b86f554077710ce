#include "tokenizer/cut/gpt2.h"

#include "common/base/utf8.h"
#include "tokenizer/cut/ascii.h"
#include "tokenizer/cut/classmasks.h"
#include "unicode/unicode.h"

enum { NO_CLASS = -1 };

void gpt2_begin(struct gpt2 *g, const char *text, size_t n)
{
    *g = (struct gpt2){
        .text = (const unsigned char *)text,
        .n = n,
        .classes = unicode_classes(),
        .last = NO_CLASS,
    };
}

/* Returns `bits` changed: for each character whose first byte has its bit set, the bits of all its
 * bytes are set. `tails`: the bytes of characters that are not the first one. */
static inline uint64_t with_tails(uint64_t bits, uint64_t tails)
{
    enum { TAILS_MAX = 3 };
    for (int i = 0; i < TAILS_MAX; i++)
        bits |= bits << 1 & tails;
    return bits;
}

/* Adds the characters of the block that are not ASCII to the masks *c: sets the bits of all bytes
 * of a character, also if it began in the block before. */
static inline void add_characters(const struct gpt2 *g, struct class_masks *c,
                                  const unsigned char *block, const struct ascii_masks *m)
{
    uint64_t leads = m->high & ~m->tails, first = m->tails & 1;
    c->letters |= g->last == UNICODE_LETTER ? first : 0;
    c->numbers |= g->last == UNICODE_NUMBER ? first : 0;
    c->spaces |= g->last == UNICODE_SPACE ? first : 0;
    if (leads)
        classmasks_add(c, g->classes, block, leads);
    c->letters = with_tails(c->letters, m->tails);
    c->numbers = with_tails(c->numbers, m->tails);
    c->spaces = with_tails(c->spaces, m->tails);
}

/* Returns 1 if the first character that begins at or after `at` is white space, else 0. The end of
 * the text counts as white space. */
static inline int is_space_next(const struct gpt2 *g, size_t at)
{
    size_t len;
    while (at < g->n && (g->text[at] & 0xC0) == 0x80)
        at++;
    return at >= g->n || unicode_class(g->classes, utf8_get(g->text + at, &len)) == UNICODE_SPACE;
}

/* Returns the number of bytes of a contraction such as "'s" at text[i], or 0. */
static inline size_t contraction(const struct gpt2 *g, size_t i)
{
    size_t left = g->n - i;
    unsigned char a = left > 1 ? g->text[i + 1] : 0, b = left > 2 ? g->text[i + 2] : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return 2;
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

/* Returns `begins`, the mask of the first bytes of pieces, corrected for contractions: if a piece
 * that begins with a quote is a contraction, no piece begins at its letters, but one begins after
 * it. */
static uint64_t cut_contractions(struct gpt2 *g, uint64_t begins, uint64_t quotes)
{
    begins = (begins & ~g->drop) | g->add;
    g->add = g->drop = 0;
    for (quotes &= begins; quotes; quotes &= quotes - 1) {
        size_t i = (size_t)__builtin_ctzll(quotes), n = contraction(g, g->block + i);
        if (!n)
            continue;
        unsigned __int128 letter = (unsigned __int128)2 << i,
                          next = (unsigned __int128)1 << (i + n);
        begins = (begins & ~(uint64_t)letter) | (uint64_t)next;
        g->drop |= (uint64_t)(letter >> ASCII_BLOCK);
        g->add |= (uint64_t)(next >> ASCII_BLOCK);
    }
    return begins;
}

/* Returns `bits` with each set bit moved to the first byte of the character that it is in. */
static uint64_t leads_of(uint64_t bits, uint64_t tails)
{
    while (bits & tails)
        bits = (bits & ~tails) | (bits & tails) >> 1;
    return bits;
}

/* Computes where pieces begin in the next block, and makes it the current block. */
static inline void next_block(struct gpt2 *g)
{
    unsigned char padded[ASCII_BLOCK];
    const unsigned char *block = g->text + g->next;
    size_t left = g->n - g->next;
    if (left < ASCII_BLOCK) {
        memset(padded, ' ', sizeof padded);
        block = memcpy(padded, block, left);
    }
    struct ascii_masks m;
    ascii_classify(&m, NULL, block);
    struct class_masks c = { m.letters, m.digits, m.spaces };
    if (m.high)
        add_characters(g, &c, block, &m);
    uint64_t others = ~(c.letters | c.numbers | c.spaces);
    uint64_t spaces_before = c.spaces << 1 | (g->last == UNICODE_SPACE);
    uint64_t runs = (c.letters & ~(c.letters << 1 | (g->last == UNICODE_LETTER))) |
                    (c.numbers & ~(c.numbers << 1 | (g->last == UNICODE_NUMBER))) |
                    (others & ~(others << 1 | (g->last == UNICODE_OTHER)));
    uint64_t ends = c.spaces & ~(c.spaces >> 1);
    if (ends >> 63 && is_space_next(g, g->next + ASCII_BLOCK))
        ends &= ~((uint64_t)1 << 63);
    uint64_t begins = (runs & ~(m.blanks << 1 | (uint64_t)g->blank)) | (c.spaces & ~spaces_before) |
                      leads_of(ends, m.tails);
    g->block = g->next;
    g->begins = cut_contractions(g, begins, m.quotes);
    g->last = c.letters >> 63   ? UNICODE_LETTER
              : c.numbers >> 63 ? UNICODE_NUMBER
              : c.spaces >> 63  ? UNICODE_SPACE
                                : UNICODE_OTHER;
    g->blank = (int)(m.blanks >> 63);
    g->next += left < ASCII_BLOCK ? left : ASCII_BLOCK;
    if (left < ASCII_BLOCK)
        g->begins &= ((uint64_t)1 << left) - 1;
    if (!g->block)
        g->begins &= ~(uint64_t)1; /* no piece ends at the beginning of the text */
}

int gpt2_next(struct gpt2 *g, size_t *ends, int max)
{
    int count = 0;
    while (count < max && g->block < g->n) {
        uint64_t bits = g->begins;
        if (max - count >= ASCII_BLOCK) {
            count += (int)ascii_places(ends + count, bits, g->block);
            bits = 0;
        }
        for (; bits && count < max; bits &= bits - 1)
            ends[count++] = g->block + (size_t)__builtin_ctzll(bits);
        g->begins = bits;
        if (bits)
            break;
        if (g->next < g->n)
            next_block(g);
        else if (count < max)
            ends[count++] = g->block = g->n;
    }
    return count;
}
