#include "wikiprep/input/bzblock.h"

#include "wikiprep/input/bzbits.h"
#include "wikiprep/input/bzchain.h"
#include "wikiprep/input/bzcolumn.h"
#include "wikiprep/input/bzrun.h"

uint32_t bzblock_bits(const uint8_t *packed, uint64_t at, int n)
{
    return (uint32_t)(bzbits_load(packed + at / 8) << (at & 7) >> (64 - n));
}

/* ---- finding markers ---------------------------------------------------------------------- */

/* Filters for candidate positions of a marker. A marker that begins s bits into a byte determines
 * the two bytes after that byte. Bit s of second[x] & third[y] (bit 8 + s for the end-of-stream
 * marker) is set if x and y can be these two bytes. */
static uint16_t second[256], third[256];

/* Runs before main, so that threads find the tables complete. */
__attribute__((constructor)) static void make_tables(void)
{
    const uint64_t magics[2] = { BZBLOCK_BEGIN, BZBLOCK_STREAM_END };
    for (int m = 0; m < 2; m++)
        for (int s = 0; s < 8; s++) {
            uint64_t bytes = magics[m] << 16 >> s; /* shifted by s bits, in eight bytes */
            second[bytes >> 48 & 255] |= (uint16_t)(1 << (8 * m + s));
            third[bytes >> 40 & 255] |= (uint16_t)(1 << (8 * m + s));
        }
}

uint64_t bzblock_find(const uint8_t *packed, uint64_t from, uint64_t to, uint64_t *magic)
{
    for (uint64_t i = from / 8; 8 * i + 48 <= to; i++) {
        unsigned fits = second[packed[i + 1]] & third[packed[i + 2]];
        for (; fits; fits &= fits - 1) {
            int bit = __builtin_ctz(fits), shift = bit & 7;
            uint64_t at = 8 * i + (uint64_t)shift;
            *magic = bit < 8 ? BZBLOCK_BEGIN : BZBLOCK_STREAM_END;
            if (at >= from && at + 48 <= to && bzbits_load(packed + i) << shift >> 16 == *magic)
                return at;
        }
    }
    return UINT64_MAX;
}

/* ---- the parts of a block ----------------------------------------------------------------- */

struct bzblock_tables {
    struct bzcolumn column;
    struct bzchain *chain;
};

struct bzblock_tables *bzblock_tables_new(void)
{
    struct bzblock_tables *t = mem_alloc(sizeof *t);
    t->chain = bzchain_new();
    return t;
}

void bzblock_tables_free(struct bzblock_tables *t)
{
    if (!t)
        return;
    bzchain_free(t->chain);
    free(t);
}

static int bad(struct bzblock *b, const char *why)
{
    b->state = BZBLOCK_BAD;
    b->why = why;
    return -1;
}

/* Reads which byte values occur into c->alphabet, in ascending order. Returns 0, or -1 with b->why
 * set. */
static int read_alphabet(struct bzblock *b, struct bzbits *in, struct bzcolumn *c)
{
    c->used = 0;
    memset(c->alphabet, 0, sizeof c->alphabet);
    unsigned rows = bzbits_get(in, 16);
    for (int row = 0; row < 16; row++) {
        unsigned columns = rows << row & 0x8000 ? bzbits_get(in, 16) : 0;
        for (int column = 0; column < 16; column++)
            if (columns << column & 0x8000)
                c->alphabet[c->used++] = (uint8_t)(16 * row + column);
    }
    return c->used ? 0 : bad(b, "damaged bzip2 block: it has no bytes");
}

/* Reads the code of each group into c: positions in a move-to-front list, in unary. Reads and
 * ignores groups beyond those that a block can use, as bzip2 does. Returns 0, or -1 with b->why
 * set. */
static int read_choices(struct bzblock *b, struct bzbits *in, struct bzcolumn *c, unsigned codes)
{
    uint8_t list[BZCOLUMN_CODES] = { 0, 1, 2, 3, 4, 5 };
    int groups = (int)bzbits_get(in, 15);
    for (int i = 0; i < groups; i++) {
        unsigned place = 0;
        while (bzbits_get(in, 1))
            if (++place >= codes)
                return bad(b, "damaged bzip2 block: a code that is not there");
        uint8_t chosen = list[place];
        memmove(list + 1, list, place);
        list[0] = chosen;
        if (i < BZCOLUMN_GROUPS_MAX)
            c->choice[i] = chosen;
    }
    c->groups = groups < BZCOLUMN_GROUPS_MAX ? groups : BZCOLUMN_GROUPS_MAX;
    return 0;
}

/* Reads the lengths of a Huffman code's words for `symbols` symbols, each as the difference from
 * the one before, and builds *c from them. Returns 0, or -1 with b->why set. */
static int read_code(struct bzblock *b, struct bzbits *in, struct bzcode *c, int symbols)
{
    uint8_t lengths[BZCODE_SYMBOLS];
    unsigned length = bzbits_get(in, 5);
    for (int s = 0; s < symbols; s++) {
        for (;;) {
            if (length < 1 || length > BZCODE_LENGTH_MAX)
                return bad(b, "damaged bzip2 block: a code's length is out of range");
            bzbits_refill(in);
            if (!bzbits_take(in, 1))
                break;
            length += bzbits_take(in, 1) ? -1u : 1u;
        }
        lengths[s] = (uint8_t)length;
    }
    if (bzcode_make(c, lengths, symbols) < 0)
        return bad(b, "damaged bzip2 block: a code has too many words");
    return 0;
}

static int read_codes(struct bzblock *b, struct bzbits *in, struct bzcolumn *c)
{
    unsigned codes = bzbits_get(in, 3);
    if (codes < 2 || codes > BZCOLUMN_CODES)
        return bad(b, "damaged bzip2 block: fewer than two codes, or more than six");
    if (read_choices(b, in, c, codes) < 0)
        return -1;
    for (unsigned i = 0; i < codes; i++)
        if (read_code(b, in, &c->codes[i], c->used + 2) < 0)
            return -1;
    return 0;
}

/* ---- a block ------------------------------------------------------------------------------ */

/* Reads a block into *c, up to the last column of the sorted rotations (bzblock.h). Returns the row
 * that holds the original text, or -1 with b->why set. */
static int64_t read_block(struct bzblock *b, struct bzbits *in, struct bzcolumn *c)
{
    bzbits_get(in, 24); /* skip the marker */
    bzbits_get(in, 24);
    b->crc = bzbits_get(in, 32);
    if (bzbits_get(in, 1))
        return bad(b, "a randomised block, as bzip2 0.9.0 wrote, is not supported");
    uint32_t row = bzbits_get(in, 24);
    if (read_alphabet(b, in, c) < 0 || read_codes(b, in, c) < 0)
        return -1;
    const char *why = bzcolumn_read(c, in);
    if (why)
        return bad(b, why);
    b->count = c->last.n;
    return row < b->count ? (int64_t)row
                          : bad(b, "damaged bzip2 block: its first byte lies outside");
}

static void check_crc(struct bzblock *b)
{
    uint32_t crc = 0xFFFFFFFF;
    for (size_t at = 0, run; at < b->count; at = run + 1) {
        run = bzrun_next(b->bytes, at, b->count);
        crc = bzrun_crc(crc, b->bytes + at, run - at);
        if (run == b->count) {
            const uint8_t *four = b->bytes + run - 4;
            int counts = run - at >= 4 && four[0] == four[1] && four[0] == four[2] &&
                         four[0] == four[3];
            if (counts)
                bad(b, "damaged bzip2 block: a run without a length");
            break;
        }
        uint8_t more[255];
        memset(more, b->bytes[run - 1], b->bytes[run]);
        crc = bzrun_crc(crc, more, b->bytes[run]);
    }
    if (b->state == BZBLOCK_GOOD && ~crc != b->crc)
        bad(b, "damaged bzip2 block: its checksum does not match");
}

void bzblock_decode(struct bzblock_tables *t, struct bzblock *b)
{
    struct bzcolumn *c = &t->column;
    struct bzbits in = { b->packed + b->begin / 8, b->packed + (b->end + 7) / 8, 0, 0, 0 };
    bzbits_refill(&in);
    in.bits <<= b->begin & 7;
    in.held -= b->begin & 7;
    b->state = BZBLOCK_GOOD;
    b->count = 0;
    int64_t row = read_block(b, &in, c);
    b->after = bzbits_position(&in, b->packed);
    if (b->after > b->end) /* it used bits after the end: the result is ignored */
        b->state = BZBLOCK_CUT;
    if (b->state != BZBLOCK_GOOD)
        return;
    bzchain_invert(t->chain, &c->last, (uint32_t)row, b->bytes);
    check_crc(b);
}
