#include <bzlib.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/simd.h"
#include "wikiprep/input/bunzip.h"
#include "wikiprep/input/bzblock.h"
#include "wikiprep/input/bzchain.h"
#include "wikiprep/input/bzcolumn.h"
#include "wikiprep/input/bzrun.h"

/* ---- tools -------------------------------------------------------------------------------- */

struct source {
    const struct buf *packed;
    size_t at, step;
};

static int64_t pull(void *ctx, void *bytes, size_t n)
{
    struct source *s = ctx;
    size_t left = s->packed->len - s->at;
    n = n < s->step ? n : s->step;
    n = n < left ? n : left;
    memcpy(bytes, s->packed->data + s->at, n);
    s->at += n;
    return (int64_t)n;
}

/* Threads that unpack ahead, one less than `threads`. */
struct helpers {
    struct bunzip *b;
    pthread_t ids[2];
    int count;
    atomic_int stop;
};

static void *help(void *arg)
{
    struct helpers *h = arg;
    while (!h->stop)
        if (!bunzip_help(h->b))
            sched_yield();
    return NULL;
}

static void helpers_start(struct helpers *h, struct bunzip *b, int threads)
{
    *h = (struct helpers){ .b = b };
    for (; h->count < threads - 1; h->count++)
        cr_assert_eq(pthread_create(&h->ids[h->count], NULL, help, h), 0);
}

/* Stops them and frees what they work on. */
static void helpers_stop(struct helpers *h)
{
    h->stop = 1;
    while (h->count)
        pthread_join(h->ids[--h->count], NULL);
    bunzip_free(h->b);
}

/* Chooses the best instructions of the processor, or with `plain` 1 those that all have. */
static void choose(int plain)
{
    if (plain)
        simd_use(SIMD_PLAIN);
    else
        simd_find();
}

/* Unpacks everything to `out`. Returns 0, or -1 with an error. */
static int unpack(struct buf *out, const struct buf *packed, size_t step, int threads)
{
    struct source source = { packed, 0, step };
    struct bunzip *b = bunzip_new(&(struct bunzip_source){ "test.bz2", pull, NULL, &source },
                                  threads);
    struct helpers helpers;
    char bytes[999];
    int64_t n;
    buf_clear(out);
    helpers_start(&helpers, b, threads);
    while ((n = bunzip_read(b, bytes, sizeof bytes)) > 0)
        buf_add(out, bytes, (size_t)n);
    helpers_stop(&helpers);
    return (int)n;
}

static void pack(struct buf *out, const struct buf *text, int level)
{
    unsigned n = (unsigned)(text->len + text->len / 50 + 1000);
    buf_reserve(out, n);
    int failed = BZ2_bzBuffToBuffCompress(out->data + out->len, &n, text->data, (unsigned)text->len,
                                          level, 0, 0);
    cr_assert_eq(failed, BZ_OK);
    out->len += n;
}

static void expect_same(const struct buf *packed, const struct buf *text, const char *what)
{
    struct buf out = BUF_INIT;
    for (int threads = 1; threads <= 3; threads += 2) {
        cr_expect_eq(unpack(&out, packed, threads == 1 ? 7777 : SIZE_MAX, threads), 0, "%s: %s",
                     what, err_get());
        cr_expect(out.len == text->len && !memcmp(out.data, text->data, out.len),
                  "%s: %zu bytes, not %zu, or others", what, out.len, text->len);
    }
    buf_release(&out);
}

static uint32_t number(uint32_t *state)
{
    return *state = *state * 1664525 + 1013904223;
}

static void add_words(struct buf *text, size_t bytes)
{
    uint32_t state = 1;
    while (text->len < bytes)
        buf_addf(text, "%s%u ", number(&state) >> 31 ? "the " : "word", number(&state) >> 22);
}

static void add_noise(struct buf *text, size_t bytes)
{
    uint32_t state = 7;
    for (size_t i = 0; i < bytes; i++)
        buf_addc(text, (int)(number(&state) >> 24));
}

static void add_runs(struct buf *text)
{
    for (int length = 1; length < 1100; length++)
        for (int i = 0; i < length; i++)
            buf_addc(text, length & 1 ? 'a' : 200);
}

/* ---- what bzip2 writes -------------------------------------------------------------------- */

Test(bunzip, is_known_by_its_first_bytes)
{
    cr_expect(bunzip_recognises("BZh91", 5) && bunzip_recognises("BZh1\x17rE8P\x90", 10));
    cr_expect(!bunzip_recognises("BZh9", 4) && !bunzip_recognises("BZh01AY&SY", 10));
    cr_expect(!bunzip_recognises("BZh91AY&SX", 10));
}

Test(bunzip, every_level_and_kind_of_data)
{
    struct buf texts[6];
    for (int i = 0; i < 6; i++)
        buf_init(&texts[i]);
    buf_adds(&texts[1], "x");
    for (int i = 0; i < 2000000; i++)
        buf_addc(&texts[2], 'x');
    add_noise(&texts[3], 1000000);
    add_words(&texts[4], 1000000);
    add_runs(&texts[5]);
    for (int i = 0; i < 6; i++) {
        for (int level = 1; level <= 9; level += i < 2 || i == 4 ? 1 : 4) {
            struct buf packed = BUF_INIT;
            char what[40];
            snprintf(what, sizeof what, "text %d, level %d", i, level);
            pack(&packed, &texts[i], level);
            expect_same(&packed, &texts[i], what);
            buf_release(&packed);
        }
        buf_release(&texts[i]);
    }
}

Test(bunzip, streams_in_a_row_with_zeros_between)
{
    struct buf text = BUF_INIT, all = BUF_INIT, packed = BUF_INIT, nothing = BUF_INIT;
    add_words(&text, 150000);
    for (int i = 0; i < 12; i++) {
        pack(&packed, i % 3 == 1 ? &nothing : &text, 1 + i % 9);
        if (i % 3 != 1)
            buf_add(&all, text.data, text.len);
        for (int zeros = 0; zeros < 100 * i; zeros++)
            buf_addc(&packed, 0);
    }
    expect_same(&packed, &all, "streams");
    buf_release(&text);
    buf_release(&all);
    buf_release(&packed);
}

/* Unpacks to `out` and goes on after each error. Returns the number of errors. */
static int unpack_around(struct buf *out, const struct buf *packed, int threads)
{
    struct source source = { packed, 0, 9999 };
    struct bunzip *b = bunzip_new(&(struct bunzip_source){ "test.bz2", pull, NULL, &source },
                                  threads);
    struct helpers helpers;
    char bytes[999];
    int64_t n;
    int errors = 0;
    buf_clear(out);
    helpers_start(&helpers, b, threads);
    do {
        while ((n = bunzip_read(b, bytes, sizeof bytes)) > 0)
            buf_add(out, bytes, (size_t)n);
        errors += n < 0;
    } while (n < 0 && bunzip_resume(b));
    cr_expect_not(bunzip_resume(b), "there is nothing more");
    helpers_stop(&helpers);
    return errors;
}

/* One damaged byte must cost only the block in which it is. */
Test(bunzip, goes_on_behind_damage)
{
    struct buf text = BUF_INIT, packed = BUF_INIT, out = BUF_INIT;
    add_words(&text, 450000);
    pack(&packed, &text, 1);
    size_t one = packed.len, whole = 2 * text.len;
    pack(&packed, &text, 9);
    for (size_t at = 0; at < packed.len; at += packed.len / 23) {
        packed.data[at] ^= 0x5A;
        for (int threads = 1; threads <= 3; threads += 2) {
            int errors = unpack_around(&out, &packed, threads);
            size_t block = at < one ? 100000 : text.len, lost = whole - out.len;
            cr_expect(errors > 0, "byte %zu", at);
            cr_expect(out.len <= whole && lost <= block, "byte %zu: %zu bytes are lost", at, lost);
            size_t before = 0, after = 0; /* the text on both sides of the hole */
            while (before < out.len && out.data[before] == text.data[before % text.len])
                before++;
            while (after < out.len - before &&
                   out.data[out.len - 1 - after] == text.data[(whole - 1 - after) % text.len])
                after++;
            cr_expect_eq(before + after, out.len, "byte %zu", at);
        }
        packed.data[at] ^= 0x5A;
    }
    buf_release(&text);
    buf_release(&packed);
    buf_release(&out);
}

/* After damage only the rest of the same stream cannot be checked by its checksum. */
Test(bunzip, checks_streams_behind_damage)
{
    struct buf text = BUF_INIT, packed = BUF_INIT, out = BUF_INIT;
    add_words(&text, 250000);
    pack(&packed, &text, 1);
    packed.data[packed.len / 2] ^= 0x5A;
    cr_expect_eq(unpack_around(&out, &packed, 1), 1, "its block, and not its checksum");
    pack(&packed, &text, 1);
    cr_expect_eq(unpack_around(&out, &packed, 1), 1);
    packed.data[packed.len - 2] ^= 0x10;
    cr_expect_eq(unpack_around(&out, &packed, 1), 2, "its block, and the other's checksum");
    buf_release(&text);
    buf_release(&packed);
    buf_release(&out);
}

Test(bunzip, recognises)
{
    cr_expect(bunzip_recognises("BZh91AY&SY", 10));
    cr_expect(bunzip_recognises("BZh1\x17\x72\x45\x38\x50\x90", 10));
    cr_expect(bunzip_recognises("BZh51AY", 7), "cut short");
    cr_expect_not(bunzip_recognises("BZh01AY&SY", 10));
    cr_expect_not(bunzip_recognises("BZh9 is how bzip2 begins", 24));
    cr_expect_not(bunzip_recognises("BZ", 2));
    cr_expect_not(bunzip_recognises("<mediawiki>", 11));
}

/* ---- what it does not --------------------------------------------------------------------- */

struct bit_writer {
    struct buf bytes;
    int count; /* bits in the last byte */
};

static void put(struct bit_writer *w, uint64_t value, int n)
{
    while (n--) {
        if (w->count % 8 == 0)
            buf_addc(&w->bytes, 0);
        w->bytes.data[w->bytes.len - 1] |= (char)((value >> n & 1) << (7 - w->count++ % 8));
    }
}

static unsigned bits(const struct buf *packed, uint64_t at, int n)
{
    unsigned v = 0;
    for (; n--; at++)
        v = v << 1 | ((unsigned char)packed->data[at / 8] >> (7 - at % 8) & 1);
    return v;
}

/* Copies a stream of one block and adds `magic` to its list of code numbers, `times` times: bzip2
 * allows more numbers than the block needs, and their unary codes can be any bits without long runs
 * of ones. */
static void hide_magics(struct buf *out, const struct buf *packed, uint64_t magic, int times)
{
    uint64_t at = 32 + 48 + 32 + 1 + 24, end = 8 * (uint64_t)packed->len;
    unsigned rows = bits(packed, at, 16);
    at += 16 + 16 * (unsigned)__builtin_popcount(rows);
    cr_assert_eq(bits(packed, at, 3), 6, "six codes, so that up to five ones are a number");
    at += 3;
    struct bit_writer w = { BUF_INIT, 0 };
    for (uint64_t i = 0; i < at; i++)
        put(&w, bits(packed, i, 1), 1);
    unsigned choices = bits(packed, at, 15);
    put(&w, choices + (unsigned)times * (unsigned)(49 - __builtin_popcountll(magic)), 15);
    at += 15;
    for (unsigned i = 0; i < choices; at++) {
        put(&w, bits(packed, at, 1), 1);
        i += !bits(packed, at, 1);
    }
    for (int i = 0; i < times; i++) {
        put(&w, magic, 48);
        put(&w, 0, 1);
    }
    while (end - at >= 80 &&
           !(bits(packed, at, 24) == 0x177245 && bits(packed, at + 24, 24) == 0x385090))
        put(&w, bits(packed, at++, 1), 1);
    for (int i = 0; i < 80; i++)
        put(&w, bits(packed, at++, 1), 1);
    *out = w.bytes;
}

Test(bunzip, magics_inside_a_block_do_not_mislead)
{
    struct buf text = BUF_INIT, packed = BUF_INIT, twice = BUF_INIT;
    add_words(&text, 60000);
    pack(&packed, &text, 9);
    buf_add(&twice, text.data, text.len);
    buf_add(&twice, text.data, text.len);
    const uint64_t magics[] = { BZBLOCK_BEGIN, BZBLOCK_STREAM_END };
    for (int m = 0; m < 2; m++)
        for (int times = 1; times <= 900; times *= 30) {
            struct buf hidden = BUF_INIT;
            hide_magics(&hidden, &packed, magics[m], times);
            char out[70000];
            unsigned n = sizeof out; /* bzip2 takes it, too */
            cr_expect_eq(
                BZ2_bzBuffToBuffDecompress(out, &n, hidden.data, (unsigned)hidden.len, 0, 0),
                BZ_OK);
            buf_add(&hidden, packed.data, packed.len);
            expect_same(&hidden, &twice, m ? "ends" : "blocks");
            buf_release(&hidden);
        }
    buf_release(&text);
    buf_release(&packed);
    buf_release(&twice);
}

/* Unpacks from byte `from` on, where a block begins, with a mark at byte `mark`. */
static size_t unpack_from(struct buf *out, const struct buf *packed, size_t from, size_t mark,
                          uint64_t *marked)
{
    struct source source = { packed, from, SIZE_MAX };
    struct bunzip *b = bunzip_new(&(struct bunzip_source){ "test.bz2", pull, NULL, &source }, 1);
    bunzip_set_part(b, 1, mark - from);
    char bytes[999];
    int64_t n;
    buf_clear(out);
    while ((n = bunzip_read(b, bytes, sizeof bytes)) > 0)
        buf_add(out, bytes, (size_t)n);
    cr_expect_eq(n, 0, "from byte %zu: %s", from, err_get());
    cr_expect_eq(bunzip_read(b, bytes, sizeof bytes), n);
    *marked = bunzip_part_end(b);
    bunzip_free(b);
    return out->len;
}

/* Parts begin at blocks of two streams. The first block contains bits that look like the beginning
 * of a block. */
Test(bunzip, a_part_begins_at_a_block)
{
    enum { BYTES = 60000 };
    struct buf text = BUF_INIT, packed = BUF_INIT, out = BUF_INIT;
    add_words(&text, BYTES);
    pack(&packed, &text, 9);
    for (int times = 0; times <= 30; times += 15) {
        struct buf two = BUF_INIT;
        uint64_t marked;
        hide_magics(&two, &packed, BZBLOCK_BEGIN, times);
        size_t second = two.len + 4;
        buf_add(&two, packed.data, packed.len);
        for (size_t from = 0; from < two.len; from += from < 200 ? 1 : 97) {
            size_t blocks = (from <= 4) + (from <= second);
            size_t n = unpack_from(&out, &two, from, two.len, &marked);
            cr_expect_eq(n, blocks * text.len, "from byte %zu: %zu bytes", from, n);
            cr_expect(!n || !memcmp(out.data + n - text.len, text.data, text.len));
            cr_expect_eq(marked, UINT64_MAX);
        }
        for (size_t mark = 0; mark <= second + 1; mark += mark < 8 || mark > second - 3 ? 1 : 499) {
            unpack_from(&out, &two, 0, mark, &marked);
            uint64_t want = mark <= 4 ? 0 : mark <= second ? text.len : UINT64_MAX;
            cr_expect_eq(marked, want, "mark at byte %zu", mark);
        }
        buf_release(&two);
    }
    buf_release(&text);
    buf_release(&packed);
    buf_release(&out);
}

static void expect_error(const struct buf *packed, const char *message)
{
    struct buf out = BUF_INIT;
    cr_expect_eq(unpack(&out, packed, SIZE_MAX, 1), -1, "no error: %s", message);
    cr_expect(strstr(err_get(), message), "'%s', not '%s'", err_get(), message);
    buf_release(&out);
}

Test(bunzip, blocks_that_are_refused)
{
    struct buf text = BUF_INIT, packed = BUF_INIT;
    add_words(&text, 250000);
    pack(&packed, &text, 9);
    packed.data[14] |= (char)0x80;
    expect_error(&packed, "at byte 4 (0 unpacked): a randomised block");
    packed.data[14] &= 0x7F;
    packed.data[3] = '1';
    expect_error(&packed, "longer than its stream's level");
    packed.data[3] = '9';
    packed.data[10] ^= 1;
    expect_error(&packed, "at byte 4 (0 unpacked): damaged bzip2 block: its checksum");
    packed.data[10] ^= 1;
    packed.data[packed.len - 2] ^= 0x10;
    expect_error(&packed, "the stream's checksum does not match");
    packed.data[packed.len - 2] ^= 0x10;
    buf_adds(&packed, "BZ");
    expect_error(&packed, "truncated");
    buf_adds(&packed, "p");
    pack(&packed, &text, 9);
    expect_error(&packed, "neither a bzip2 stream nor the end");
    buf_release(&text);
    buf_release(&packed);
}

/* Makes a stream whose only block is "aaaa". counted: 1 to add the count byte 0, which must follow
 * four equal bytes; 0 to leave it out, against the format. */
static void pack_run(struct buf *out, int counted)
{
    struct bit_writer w = { BUF_INIT, 0 };
    uint32_t crc = ~bzrun_crc(0xFFFFFFFF, (const uint8_t *)"aaaa", 4);
    put(&w, 0x425A6839, 32); /* BZh9 */
    put(&w, BZBLOCK_BEGIN, 48);
    put(&w, crc, 32);
    put(&w, counted ? 4 : 0, 1 + 24); /* not randomised; the text's row of the sorted rotations */
    put(&w, counted ? 0x8200 : 0x0200, 16);
    if (counted)
        put(&w, 0x8000, 16); /* the alphabet: 0 */
    put(&w, 0x4000, 16);     /* and 'a' */
    put(&w, 2, 3);           /* two codes, */
    put(&w, 1, 15);          /* one group, */
    put(&w, 0, 1);           /* of the first code */
    for (int code = 0; code < 2; code++)
        put(&w, 2 << (counted ? 4 : 3), 5 + (counted ? 4 : 3)); /* each symbol has two bits */
    if (counted)
        put(&w, 0x20B, 10); /* aaaa0: place 1, a run of 3, place 1, the end */
    else
        put(&w, 0x12, 6); /* aaaa: a run of 4, the end */
    put(&w, BZBLOCK_STREAM_END, 48);
    put(&w, crc, 32);
    *out = w.bytes;
}

Test(bunzip, a_run_has_its_count)
{
    struct buf packed, text = BUF_INIT;
    buf_adds(&text, "aaaa");
    pack_run(&packed, 1);
    expect_same(&packed, &text, "with its count");
    buf_release(&packed);
    pack_run(&packed, 0);
    expect_error(&packed, "at byte 4 (0 unpacked): damaged bzip2 block: a run without a length");
    buf_release(&packed);
    buf_release(&text);
}

/* Unpacks a damaged file: the result must be a prefix of the text, and the whole text if there is
 * no error. */
static void expect_prefix(const struct buf *packed, const struct buf *text, size_t at)
{
    struct buf out = BUF_INIT;
    int result = unpack(&out, packed, SIZE_MAX, 1);
    cr_expect(out.len <= text->len && !memcmp(out.data, text->data, out.len), "other bytes: %zu",
              at);
    cr_expect(result < 0 || out.len == text->len, "lost without an error: %zu", at);
    buf_release(&out);
}

Test(bunzip, cut_and_damaged_everywhere)
{
    struct buf text = BUF_INIT, packed = BUF_INIT;
    add_words(&text, 3000);
    for (int i = 0; i < 3; i++)
        pack(&packed, &text, 1);
    size_t stream = packed.len / 3, part = text.len;
    char *copy = buf_detach(&text);
    for (int i = 0; i < 3; i++)
        buf_add(&text, copy, part);
    free(copy);
    expect_same(&packed, &text, "whole");
    for (size_t at = 0; at < packed.len; at++) {
        packed.data[at] ^= (char)(1 << at % 8);
        expect_prefix(&packed, &text, at);
        packed.data[at] ^= (char)(1 << at % 8);
    }
    for (size_t whole = packed.len; --packed.len > 0;) {
        struct buf out = BUF_INIT;
        int result = unpack(&out, &packed, SIZE_MAX, 1);
        int at_stream = packed.len % stream == 0 && packed.len < whole;
        cr_expect_eq(result, at_stream ? 0 : -1, "cut at %zu", packed.len);
        cr_expect_geq(out.len, packed.len / stream * part, "cut at %zu", packed.len);
        buf_release(&out);
    }
    buf_release(&text);
    buf_release(&packed);
}

/* ---- columns and chains -------------------------------------------------------------------- */

/* Makes a complete prefix code in which the symbols below `slope` have lengths of i + 1 bits, and
 * all others the same length. */
static void make_code(struct bzcode *code, int symbols, int slope)
{
    uint8_t lengths[BZCODE_SYMBOLS];
    int rest = 0;
    while (1 << rest < symbols - slope)
        rest++;
    for (int i = 0; i < symbols; i++)
        lengths[i] = (uint8_t)(i < slope ? i + 1 : slope + rest);
    cr_assert_eq(bzcode_make(code, lengths, symbols), 0);
}

static struct bzcolumn *random_column(int used, int slope, int groups)
{
    struct bzcolumn *c = mem_zalloc(1, sizeof *c);
    for (int i = 0; i < 256; i++)
        c->alphabet[i] = (uint8_t)(i < used ? 255 - i : 0);
    c->used = used;
    c->groups = groups;
    for (int i = 0; i < BZCOLUMN_CODES; i++)
        make_code(&c->codes[i], used + 2, slope < used + 1 ? slope : used + 1);
    for (int i = 0; i < groups; i++)
        c->choice[i] = (uint8_t)(i % BZCOLUMN_CODES);
    return c;
}

Test(bzcolumn, both_paths_read_the_same)
{
    static const int used[] = { 1, 2, 3, 15, 16, 17, 18, 40, 200, 256 };
    struct buf noise = BUF_INIT;
    int ends = 0, errors = 0;
    add_noise(&noise, 300000);
    for (int i = 0; i < 10 * 7 * 40; i++) {
        int n = used[i % 10], slope = i / 10 % 7 * 2, groups = 1 + i % 499;
        const uint8_t *p = (const uint8_t *)noise.data + 997 * (i % 300);
        struct bzbits in[2];
        struct bzcolumn *c[2];
        const char *why[2];
        for (int path = 0; path < 2; path++) {
            c[path] = random_column(n, slope, groups);
            in[path] = (struct bzbits){ p, p + 999, 0, 0, 0 };
            choose(path);
            why[path] = bzcolumn_read(c[path], &in[path]);
        }
        cr_assert_eq(why[0], why[1], "case %d: %s, %s", i, why[0], why[1]);
        cr_assert_eq(bzbits_position(&in[0], p), bzbits_position(&in[1], p));
        const struct bzchain_column *a = &c[0]->last, *b = &c[1]->last;
        cr_assert_eq(a->n, b->n);
        cr_assert(!memcmp(a->bytes, b->bytes, a->n), "case %d", i);
        cr_assert(why[0] || !memcmp(a->occurs, b->occurs, sizeof a->occurs));
        *(why[0] ? &errors : &ends) += 1;
        free(c[0]);
        free(c[1]);
    }
    cr_expect(ends > 100 && errors > 100, "%d ends, %d errors", ends, errors);
    buf_release(&noise);
}

/* Inverts the Burrows-Wheeler transform as bzchain.h defines it, byte by byte. */
static void invert_plainly(const uint8_t *column, size_t n, const uint32_t *occurs, uint32_t first,
                           uint8_t *text)
{
    uint32_t *next = mem_zalloc(n, sizeof *next), place[256] = { 0 };
    for (int b = 1; b < 256; b++)
        place[b] = place[b - 1] + occurs[b - 1];
    for (uint32_t i = 0; i < n; i++)
        next[place[column[i]]++] = i;
    for (size_t i = 0; i < n; i++)
        text[i] = column[first = next[first]];
    free(next);
}

static void expect_inverse(struct bzchain *chain, const uint8_t *column, size_t n, uint32_t first)
{
    struct bzchain_column last = { .bytes = column, .n = n, .middle = n / 5 };
    uint8_t *got = mem_zalloc(n, 1), *want = mem_zalloc(n, 1);
    for (size_t i = 0; i < n; i++) {
        last.occurs[column[i]]++;
        last.before[column[i]] += i < last.middle;
    }
    invert_plainly(column, n, last.occurs, first, want);
    bzchain_invert(chain, &last, first, got);
    cr_expect(!memcmp(got, want, n), "%zu bytes, first %u", n, first);
    free(got);
    free(want);
}

Test(bzchain, segments_give_what_one_chain_gives)
{
    static const size_t lengths[] = { 1,    2,    3,     17,    1000,   1023,
                                      1024, 1025, 50000, 99999, 899999, BZCHAIN_MAX };
    struct bzchain *chain = bzchain_new();
    struct buf noise = BUF_INIT;
    add_noise(&noise, BZCHAIN_MAX);
    uint8_t *column = (uint8_t *)noise.data;
    for (int kind = 0; kind < 4; kind++) { /* 256 bytes, 2 bytes, one byte, sorted */
        for (size_t i = 0; i < BZCHAIN_MAX && kind; i++)
            column[i] = kind == 1 ? column[i] & 1 : kind == 2 ? 7 : (uint8_t)(i >> 12);
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            size_t n = lengths[i];
            expect_inverse(chain, column, n, 0);
            expect_inverse(chain, column, n, (uint32_t)n - 1);
            expect_inverse(chain, column, n, (uint32_t)n / 3);
        }
    }
    bzchain_free(chain);
    buf_release(&noise);
}

/* ---- runs and magics ---------------------------------------------------------------------- */

Test(bzrun, finds_runs_wherever_they_are)
{
    uint8_t bytes[64];
    for (size_t at = 0; at + 4 <= sizeof bytes; at++)
        for (size_t from = 0; from <= at; from++) {
            for (size_t i = 0; i < sizeof bytes; i++)
                bytes[i] = (uint8_t)(i % 3);
            memset(bytes + at, 9, 4);
            cr_expect_eq(bzrun_next(bytes, from, sizeof bytes), at + 4);
            cr_expect_eq(bzrun_next(bytes, from, at + 3), at + 3);
        }
}

Test(bzrun, both_checksums_are_the_definition)
{
    struct buf noise = BUF_INIT;
    add_noise(&noise, 1000);
    const uint8_t *p = (const uint8_t *)noise.data;
    for (size_t n = 0; n < 700; n++) {
        uint32_t begin = 0xFFFFFFFF - (uint32_t)n * 99991, want = begin;
        for (size_t i = 0; i < 8 * n; i++) { /* bit by bit */
            uint32_t bit = p[n % 17 + i / 8] >> (7 - i % 8) & 1;
            want = want << 1 ^ ((want >> 31 ^ bit) ? 0x04C11DB7 : 0);
        }
        for (int path = 0; path < 2; path++) {
            choose(path);
            cr_assert_eq(bzrun_crc(begin, p + n % 17, n), want, "%zu bytes", n);
        }
    }
    buf_release(&noise);
}

Test(bzblock, finds_magics_at_every_bit)
{
    const uint64_t magics[] = { BZBLOCK_BEGIN, BZBLOCK_STREAM_END };
    for (int i = 0; i < 128; i++) {
        struct bit_writer w = { BUF_INIT, 0 };
        put(&w, 0, i / 2);
        put(&w, magics[i % 2], 48);
        uint64_t end = (uint64_t)w.count, magic;
        put(&w, 0, 64);
        put(&w, 0, 64 - i / 2);
        const uint8_t *p = (const uint8_t *)w.bytes.data;
        cr_expect_eq(bzblock_find(p, 0, end, &magic), i / 2);
        cr_expect_eq(magic, magics[i % 2]);
        cr_expect_eq(bzblock_find(p, (uint64_t)i / 2 + 1, end, &magic), UINT64_MAX);
        cr_expect_eq(bzblock_find(p, 0, end - 1, &magic), UINT64_MAX);
        buf_release(&w.bytes);
    }
}
