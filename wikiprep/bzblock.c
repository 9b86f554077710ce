#include "wikiprep/bzblock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

enum {
    SYMBOLS = 258, /* at most: two for runs, 255 places, the end */
    GROUP = 50,    /* symbols that share a code */
    GROUPS_MAX = BZBLOCK_MAX / GROUP + 2,
    CODES = 6,
    LENGTH_MAX = 20, /* bits of a code word */
    FAST = 10,       /* bits that are looked up at once */
    SHIFT_MAX = 20   /* digits of a run's length */
};

/* ---- bits --------------------------------------------------------------------------------- */

/* The next bits stand at the top of `bits`, at least `held` of them. */
struct bits {
    const uint8_t *next, *end; /* the next byte to take in; behind the last */
    uint64_t bits;
    unsigned held;
    uint64_t taken; /* bytes of zeros taken in behind the end */
};

static uint64_t load_be64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* 56 bits or more. Behind the end of the bytes follow zeros; overrun() tells. */
static inline void refill(struct bits *b)
{
    if (__builtin_expect(b->next >= b->end, 0)) {
        b->taken += (63 - b->held) >> 3;
        b->held |= 56;
        return;
    }
    b->bits |= load_be64(b->next) >> b->held;
    b->next += (63 - b->held) >> 3;
    b->held |= 56;
}

static inline unsigned take(struct bits *b, unsigned n) /* n in 1..32, after a refill */
{
    unsigned v = (unsigned)(b->bits >> (64 - n));
    b->bits <<= n;
    b->held -= n;
    return v;
}

static unsigned get(struct bits *b, unsigned n)
{
    refill(b);
    return take(b, n);
}

static uint64_t position(const struct bits *b, const uint8_t *packed)
{
    return (uint64_t)(b->next - packed + (ptrdiff_t)b->taken) * 8 - b->held;
}

uint32_t bzblock_bits(const uint8_t *packed, uint64_t at, int n)
{
    return (uint32_t)(load_be64(packed + at / 8) << (at & 7) >> (64 - n));
}

/* ---- magic -------------------------------------------------------------------------------- */

/* A magic that begins s bits into a byte fills the two bytes behind that byte with known values:
 * bit s (8 + s for a stream's end) of second[x] & third[y] says that x and y may be those. */
static uint16_t second[256], third[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t crc_table[8][256];

static void make_tables(void)
{
    const uint64_t magics[2] = { BZBLOCK_BEGIN, BZBLOCK_STREAM_END };
    for (int m = 0; m < 2; m++)
        for (int s = 0; s < 8; s++) {
            uint64_t bytes = magics[m] << 16 >> s; /* as it stands in eight bytes */
            second[bytes >> 48 & 255] |= (uint16_t)(1 << (8 * m + s));
            third[bytes >> 40 & 255] |= (uint16_t)(1 << (8 * m + s));
        }
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i << 24;
        for (int k = 0; k < 8; k++)
            c = c << 1 ^ (c >> 31 ? 0x04C11DB7 : 0);
        crc_table[0][i] = c;
    }
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < 256; i++) {
            uint32_t c = crc_table[t - 1][i];
            crc_table[t][i] = c << 8 ^ crc_table[0][c >> 24];
        }
}

uint64_t bzblock_find(const uint8_t *packed, uint64_t from, uint64_t to, uint64_t *magic)
{
    pthread_once(&once, make_tables);
    for (uint64_t i = from / 8; 8 * i + 48 <= to; i++) {
        unsigned fits = second[packed[i + 1]] & third[packed[i + 2]];
        for (; fits; fits &= fits - 1) {
            int bit = __builtin_ctz(fits), shift = bit & 7;
            uint64_t at = 8 * i + (uint64_t)shift;
            *magic = bit < 8 ? BZBLOCK_BEGIN : BZBLOCK_STREAM_END;
            if (at >= from && at + 48 <= to && load_be64(packed + i) << shift >> 16 == *magic)
                return at;
        }
    }
    return UINT64_MAX;
}

/* ---- the parts of a block ----------------------------------------------------------------- */

/* A canonical Huffman code. Words of up to FAST bits are looked up; for longer ones, `limit` is the
 * first word of each length that is too large, from the top of 32 bits. */
struct code {
    uint16_t fast[1 << FAST]; /* symbol << 5 | length; 0: longer, or no word at all */
    uint32_t limit[LENGTH_MAX + 1];
    uint16_t first[LENGTH_MAX + 1]; /* place in `sorted` of the length's first, less its word */
    uint16_t sorted[SYMBOLS];       /* symbols by length */
};

struct bzblock_tables {
    struct code codes[CODES];
    uint8_t choice[GROUPS_MAX];
    uint32_t *follow[BZBLOCK_LANES]; /* place of the next byte << 8 | this byte */
    uint32_t *memory;
    uint8_t *unused; /* where idle lanes write */
};

struct bzblock_tables *bzblock_tables_new(void)
{
    pthread_once(&once, make_tables);
    struct bzblock_tables *t = mem_alloc(sizeof *t);
    const size_t all = (size_t)BZBLOCK_LANES * BZBLOCK_MAX;
    t->memory = mem_huge(all, sizeof *t->memory); /* read at random */
    for (int i = 0; i < BZBLOCK_LANES; i++)
        t->follow[i] = t->memory + (size_t)i * BZBLOCK_MAX;
    t->unused = mem_alloc(BZBLOCK_MAX);
    return t;
}

void bzblock_tables_free(struct bzblock_tables *t)
{
    if (!t)
        return;
    free(t->memory);
    free(t->unused);
    free(t);
}

static int bad(struct bzblock *b, const char *why)
{
    b->state = BZBLOCK_BAD;
    b->why = why;
    return -1;
}

/* The bytes that occur, in order. */
static int read_alphabet(struct bits *in, uint8_t *alphabet)
{
    int n = 0;
    unsigned rows = get(in, 16);
    for (int row = 0; row < 16; row++) {
        unsigned columns = rows << row & 0x8000 ? get(in, 16) : 0;
        for (int column = 0; column < 16; column++)
            if (columns << column & 0x8000)
                alphabet[n++] = (uint8_t)(16 * row + column);
    }
    return n;
}

/* Which code each group uses, as places in a move-to-front list, in unary. Returns how many groups
 * there are; those that no block can fill are read and forgotten, as bzip2 does. */
static int read_choices(struct bzblock *b, struct bits *in, uint8_t *choice, unsigned codes)
{
    uint8_t list[CODES] = { 0, 1, 2, 3, 4, 5 };
    int groups = (int)get(in, 15);
    for (int i = 0; i < groups; i++) {
        unsigned place = 0;
        while (get(in, 1))
            if (++place >= codes)
                return bad(b, "damaged bzip2 block: a code that is not there");
        uint8_t chosen = list[place];
        memmove(list + 1, list, place);
        list[0] = chosen;
        if (i < GROUPS_MAX)
            choice[i] = chosen;
    }
    return groups < GROUPS_MAX ? groups : GROUPS_MAX;
}

static void sort_symbols(struct code *c, const uint8_t *lengths, int symbols)
{
    int n = 0;
    for (unsigned length = 1; length <= LENGTH_MAX; length++)
        for (int s = 0; s < symbols; s++)
            if (lengths[s] == length)
                c->sorted[n++] = (uint16_t)s;
}

/* -1 when there are more words than fit. Words may be missing: a block that uses one is bad. */
static int make_code(struct code *c, const uint8_t *lengths, int symbols)
{
    unsigned of_length[LENGTH_MAX + 1] = { 0 };
    for (int s = 0; s < symbols; s++)
        of_length[lengths[s]]++;
    sort_symbols(c, lengths, symbols);
    memset(c->fast, 0, sizeof c->fast);
    uint32_t word = 0, place = 0;
    for (unsigned length = 1; length <= LENGTH_MAX; length++) {
        word <<= 1;
        if (word + of_length[length] > 1u << length)
            return -1;
        c->first[length] = (uint16_t)(place - word);
        for (unsigned i = 0; i < of_length[length]; i++, word++, place++) {
            unsigned copies = length <= FAST ? 1u << (FAST - length) : 0;
            for (unsigned k = 0; k < copies; k++)
                c->fast[(word << (FAST - length)) + k] = (uint16_t)(c->sorted[place] << 5 | length);
        }
        c->limit[length] = word << (LENGTH_MAX - length);
    }
    return 0;
}

static int read_code(struct bzblock *b, struct bits *in, struct code *c, int symbols)
{
    uint8_t lengths[SYMBOLS];
    unsigned length = get(in, 5);
    for (int s = 0; s < symbols; s++) {
        for (;;) {
            if (length < 1 || length > LENGTH_MAX)
                return bad(b, "damaged bzip2 block: a code's length is out of range");
            refill(in);
            if (!take(in, 1))
                break;
            length += take(in, 1) ? -1u : 1u;
        }
        lengths[s] = (uint8_t)length;
    }
    if (make_code(c, lengths, symbols) < 0)
        return bad(b, "damaged bzip2 block: a code has too many words");
    return 0;
}

/* A word longer than FAST bits: its symbol << 5 | length, or 0. */
static unsigned long_word(const struct code *c, uint64_t bits)
{
    uint32_t top = (uint32_t)(bits >> (64 - LENGTH_MAX));
    for (unsigned length = FAST + 1; length <= LENGTH_MAX; length++)
        if (top < c->limit[length]) {
            uint16_t place = (uint16_t)(c->first[length] + (top >> (LENGTH_MAX - length)));
            return (unsigned)c->sorted[place] << 5 | length;
        }
    return 0;
}

/* ---- symbols ------------------------------------------------------------------------------ */

/* A move-to-front list of bytes, whose first eight are in one register, the first lowest. */
struct list {
    uint64_t near;
    uint8_t far[256 + 16]; /* places 8 and up, from far[0] */
};

static void fill_list(struct list *l, const uint8_t *alphabet)
{
    l->near = 0;
    for (int i = 0; i < 8; i++)
        l->near |= (uint64_t)alphabet[i] << (8 * i);
    memcpy(l->far, alphabet + 8, 248);
}

static inline uint8_t to_front(struct list *l, unsigned place)
{
    if (place < 8) {
        unsigned bit = 8 * place;
        uint64_t below = (UINT64_C(1) << bit) - 1, byte = l->near >> bit & 255;
        uint64_t above = place == 7 ? 0 : l->near & ~UINT64_C(0) << (bit + 8);
        l->near = above | (l->near & below) << 8 | byte;
        return (uint8_t)byte;
    }
    unsigned n = place - 8;
    uint8_t byte = l->far[n];
    for (; n >= 16; n -= 16) {
        uint8_t row[16];
        memcpy(row, l->far + n - 16, 16);
        memcpy(l->far + n - 15, row, 16);
    }
    for (; n; n--)
        l->far[n] = l->far[n - 1];
    l->far[0] = (uint8_t)(l->near >> 56);
    l->near = l->near << 8 | byte;
    return byte;
}

/* Reads the symbols of a block: its last column into b->bytes, and how often each byte occurs. */
static int read_symbols(struct bzblock *b, struct bits *input, const struct bzblock_tables *t,
                        int groups, const uint8_t *alphabet, int used, uint32_t *occurs)
{
    struct bits in = *input; /* in registers */
    struct list list;
    fill_list(&list, alphabet);
    uint8_t *out = b->bytes, *const end = out + BZBLOCK_MAX;
    const unsigned last = (unsigned)used + 1;
    const char *why = "damaged bzip2 block: it is too long";
    uint32_t run = 0;
    unsigned shift = 0;
    for (int g = 0; g < groups; g++) {
        const struct code *code = &t->codes[t->choice[g]];
        for (int i = 0; i < GROUP; i++) {
            refill(&in);
            unsigned word = code->fast[in.bits >> (64 - FAST)];
            if (__builtin_expect(!word, 0) && !(word = long_word(code, in.bits))) {
                why = "damaged bzip2 block: no word of its code";
                goto done;
            }
            in.bits <<= word & 31;
            in.held -= word & 31;
            unsigned symbol = word >> 5;
            if (symbol < 2) { /* a digit, 1 or 2, of a run's length */
                run += (symbol + 1) << shift;
                if (++shift <= SHIFT_MAX)
                    continue;
                why = "damaged bzip2 block: a run is too long";
                goto done;
            }
            if (shift) {
                if (run > (size_t)(end - out))
                    goto done;
                uint8_t front = (uint8_t)list.near;
                memset(out, front, run);
                out += run;
                occurs[front] += run;
                run = shift = 0;
            }
            if (symbol == last) {
                why = NULL;
                goto done;
            }
            if (out == end)
                goto done;
            uint8_t byte = to_front(&list, symbol - 1);
            *out++ = byte;
            occurs[byte]++;
        }
    }
    why = "damaged bzip2 block: it has no end";
done:
    *input = in;
    b->count = (size_t)(out - b->bytes);
    return why ? bad(b, why) : 0;
}

/* follow[place in the first column] = place of that byte in the last column, and the byte. */
static void make_chain(const struct bzblock *b, uint32_t *follow, const uint32_t *occurs)
{
    uint32_t next[256], sum = 0;
    for (int c = 0; c < 256; c++) {
        next[c] = sum;
        sum += occurs[c];
    }
    for (uint32_t i = 0; i < b->count; i++)
        follow[next[b->bytes[i]]++] = i << 8 | b->bytes[i];
}

/* All of a block but the order of its bytes. Returns where the chain begins, or -1. */
static int64_t read_block(struct bzblock_tables *t, struct bzblock *b, uint32_t *follow)
{
    struct bits in = { b->packed + b->begin / 8, b->packed + (b->end + 7) / 8, 0, 0, 0 };
    uint8_t alphabet[256] = { 0 };
    uint32_t occurs[256] = { 0 };
    refill(&in);
    in.bits <<= b->begin & 7;
    in.held -= b->begin & 7;
    b->state = BZBLOCK_GOOD;
    b->count = 0;
    get(&in, 24); /* the magic was found already */
    get(&in, 24);
    b->crc = get(&in, 32);
    static const char randomised[] = "a randomised block, as bzip2 0.9.0 wrote, is not supported";
    int failed = get(&in, 1) ? bad(b, randomised) : 0;
    uint32_t begin = get(&in, 24);
    int used = failed ? 0 : read_alphabet(&in, alphabet);
    if (!failed && !used)
        failed = bad(b, "damaged bzip2 block: it has no bytes");
    unsigned codes = get(&in, 3);
    if (!failed && (codes < 2 || codes > CODES))
        failed = bad(b, "damaged bzip2 block: fewer than two codes, or more than six");
    int groups = failed ? -1 : read_choices(b, &in, t->choice, codes);
    for (unsigned i = 0; i < codes && groups >= 0 && !failed; i++)
        failed = read_code(b, &in, &t->codes[i], used + 2);
    if (!failed && groups >= 0)
        failed = read_symbols(b, &in, t, groups, alphabet, used, occurs);
    if (!failed && groups >= 0 && begin >= b->count)
        failed = bad(b, "damaged bzip2 block: its first byte lies outside");
    b->after = position(&in, b->packed);
    if (b->after > b->end) /* what was read behind the end decides nothing */
        b->state = BZBLOCK_CUT;
    if (b->state != BZBLOCK_GOOD)
        return -1;
    make_chain(b, follow, occurs);
    return begin;
}

/* ---- bytes -------------------------------------------------------------------------------- */

static uint32_t crc_add(uint32_t crc, const uint8_t *p, size_t n)
{
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t v = load_be64(p) ^ (uint64_t)crc << 32;
        crc = crc_table[7][v >> 56] ^ crc_table[6][v >> 48 & 255] ^ crc_table[5][v >> 40 & 255] ^
              crc_table[4][v >> 32 & 255] ^ crc_table[3][v >> 24 & 255] ^
              crc_table[2][v >> 16 & 255] ^ crc_table[1][v >> 8 & 255] ^ crc_table[0][v & 255];
    }
    for (; n; n--)
        crc = crc << 8 ^ crc_table[0][crc >> 24 ^ *p++];
    return crc;
}

size_t bzblock_next_run(const uint8_t *bytes, size_t from, size_t count)
{
    size_t i = from;
    for (; i + 11 <= count; i += 8) { /* is any of eight bytes equal to the next three? */
        uint64_t differ = 0, a, b = load_be64(bytes + i);
        for (size_t k = 1; k < 4; k++) {
            a = b;
            b = load_be64(bytes + i + k);
            differ |= a ^ b;
        }
        if ((differ - UINT64_C(0x0101010101010101)) & ~differ & UINT64_C(0x8080808080808080))
            break;
    }
    for (; i + 4 <= count; i++)
        if (bytes[i] == bytes[i + 1] && bytes[i] == bytes[i + 2] && bytes[i] == bytes[i + 3])
            return i + 4;
    return count;
}

static void check_crc(struct bzblock *b)
{
    uint32_t crc = 0xFFFFFFFF;
    for (size_t at = 0, run; at < b->count; at = run + 1) {
        run = bzblock_next_run(b->bytes, at, b->count);
        crc = crc_add(crc, b->bytes + at, run - at);
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
        crc = crc_add(crc, more, b->bytes[run]);
    }
    if (b->state == BZBLOCK_GOOD && ~crc != b->crc)
        bad(b, "damaged bzip2 block: its checksum does not match");
}

/* Follows all chains for as long as the longest: one that is done goes on harmlessly, round and
 * round, into what its buffer has room for. */
static void follow_chains(uint32_t *const *follow, const uint32_t *begin, uint8_t *const *out,
                          size_t count)
{
    const uint32_t *chain[BZBLOCK_LANES]; /* copies, which no byte that is written can change */
    uint8_t *to[BZBLOCK_LANES];
    uint32_t entry[BZBLOCK_LANES];
    for (int k = 0; k < BZBLOCK_LANES; k++) {
        chain[k] = follow[k];
        to[k] = out[k];
        entry[k] = begin[k] << 8;
    }
    for (size_t i = 0; i < count; i++) {
#pragma GCC unroll 8
        for (int k = 0; k < BZBLOCK_LANES; k++) {
            entry[k] = chain[k][entry[k] >> 8];
            to[k][i] = (uint8_t)entry[k];
        }
    }
}

void bzblock_decode(struct bzblock_tables *t, struct bzblock *const *blocks, int count)
{
    uint32_t begin[BZBLOCK_LANES] = { 0 };
    uint8_t *out[BZBLOCK_LANES];
    size_t longest = 0;
    for (int i = 0; i < BZBLOCK_LANES; i++) {
        int64_t first = i < count ? read_block(t, blocks[i], t->follow[i]) : -1;
        out[i] = first >= 0 ? blocks[i]->bytes : t->unused;
        if (first < 0) {
            t->follow[i][0] = 0;
            continue;
        }
        begin[i] = (uint32_t)first;
        if (blocks[i]->count > longest)
            longest = blocks[i]->count;
    }
    follow_chains(t->follow, begin, out, longest);
    for (int i = 0; i < count; i++)
        if (blocks[i]->state == BZBLOCK_GOOD)
            check_crc(blocks[i]);
}
