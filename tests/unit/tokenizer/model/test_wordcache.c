/* The word cache must give the ids of the encoder behind it, whatever it remembers. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/rng.h"
#include "common/base/simd.h"
#include "tokenizer/model/wordcache.h"

struct oracle {
    size_t calls;
};

/* An encoder for tests: it gives one id for each `step` bytes of a piece, where `step` is the low 3
 * bits of the first byte, plus 1. A piece that begins with ! is an error. */
static int encode(void *ctx, const struct pieces *p, struct ids *out, size_t *ends)
{
    for (size_t k = 0; k < p->count; k++) {
        const char *piece = p->text + p->begins[k];
        size_t n = p->ends[k] - p->begins[k], step = 1 + (piece[0] & 7);
        ((struct oracle *)ctx)->calls++;
        if (piece[0] == '!')
            return err_set("no token");
        for (size_t i = 0; i < n; i += step)
            ids_add(out, (uint32_t)((unsigned char)piece[i] | i << 8));
        ends[k] = out->count;
    }
    return 0;
}

static void expect(struct wordcache *c, const char *text, const size_t *bounds, size_t count,
                   size_t readable)
{
    struct oracle plain = { 0 };
    struct pieces p = { text, readable, bounds, bounds + 1, count, NULL };
    struct ids want = { 0 }, got = { 0 };
    size_t failed, ends[200];
    encode(&plain, &p, &want, ends);
    cr_assert_eq(wordcache_encode(c, &p, &got, &failed), 0);
    cr_assert_eq(got.count, want.count);
    cr_assert(!memcmp(got.data, want.data, want.count * sizeof *want.data));
    ids_release(&want);
    ids_release(&got);
}

static void pieces_of_all_lengths(void)
{
    enum { BYTES = 1 << 14 };
    struct oracle o = { 0 };
    struct wordcache *c = wordcache_new(encode, &o);
    struct rng r = { rng_key(0, 3), 0 };
    size_t bounds[200] = { 0 };
    char *text = malloc(BYTES);
    for (int round = 0; round < 400; round++) {
        size_t count = 0;
        for (int i = 0; i < BYTES; i++)
            text[i] = "abcdefgh"[rng_below(&r, round % 2 ? 2 : 8)];
        while (count < 199 && bounds[count] + 300 < BYTES) {
            size_t n = 1 + rng_below(&r, rng_below(&r, 10) ? 20 : 300);
            bounds[count + 1] = bounds[count] + n;
            count++;
        }
        expect(c, text, bounds, count, bounds[count]); /* nothing may be read behind them */
        size_t calls = o.calls;
        expect(c, text, bounds, count, BYTES);
        cr_assert_lt(o.calls - calls, count / 8, "%zu of %zu again", o.calls - calls, count);
    }
    free(text);
    wordcache_free(c);
}

Test(wordcache, pieces_of_all_lengths_come_back_as_encoded)
{
    for (int level = 0; level < SIMD_LEVELS; level++)
        if (simd_use((enum simd_level)level) == 0)
            pieces_of_all_lengths();
}

Test(wordcache, a_new_piece_that_occurs_often_is_encoded_once)
{
    enum { COUNT = 150, LONGEST = 40 };
    char text[COUNT * LONGEST];
    for (size_t n = 1; n <= LONGEST; n += 13) {
        struct oracle o = { 0 };
        struct wordcache *c = wordcache_new(encode, &o);
        size_t bounds[COUNT + 1] = { 0 };
        for (size_t i = 0; i < COUNT * n; i++)
            text[i] = "ab"[i / n % 3 == 1 && i % n == n - 1];
        for (size_t i = 0; i < COUNT; i++)
            bounds[i + 1] = bounds[i] + n;
        expect(c, text, bounds, COUNT, bounds[COUNT]);
        cr_assert_eq(o.calls, 2, "%zu calls for pieces of %zu bytes", o.calls, n);
        wordcache_free(c);
    }
}

/* The table grows twice below; few of the pieces before that are lost. */
Test(wordcache, pieces_stay_known_when_the_table_grows)
{
    enum { PIECES = 50000, BYTES = 8 };
    struct oracle o = { 0 };
    struct wordcache *c = wordcache_new(encode, &o);
    const size_t bounds[2] = { 0, BYTES };
    char text[BYTES + 1];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < PIECES; i++) {
            snprintf(text, sizeof text, "%08d", i);
            expect(c, text, bounds, 1, BYTES);
        }
    cr_expect_lt(o.calls, PIECES + PIECES / 8);
    wordcache_free(c);
}

/* Encodes the same `pieces` pieces of n bytes twice. Their ids are more than the cache has room
 * for. */
static void overwrite(uint32_t pieces, size_t n)
{
    struct oracle o = { 0 };
    struct wordcache *c = wordcache_new(encode, &o);
    const size_t bounds[2] = { 0, n };
    char text[255];
    memset(text, 'h', sizeof text);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < pieces; i++) {
            memcpy(text + 4, &i, sizeof i);
            expect(c, text, bounds, 1, n);
        }
        cr_assert_eq(o.calls, (round + 1) * pieces);
    }
    expect(c, text, bounds, 1, n);
    cr_assert_eq(o.calls, 2 * pieces, "the last one is there");
    wordcache_free(c);
}

/* Records of long pieces contain the piece's bytes; records of short pieces are recognised only by
 * their place. */
Test(wordcache, overwritten_records_are_encoded_again)
{
    overwrite(40000, 255);
    overwrite(80000, 15);
}

Test(wordcache, what_was_encoded_is_known_and_what_fails_is_named)
{
    struct oracle o = { 0 };
    struct wordcache *c = wordcache_new(encode, &o);
    const size_t bounds[] = { 0, 5, 10, 11 };
    struct pieces p = { "abcdeabcde!", 11, bounds, bounds + 1, 2, NULL };
    struct ids got = { 0 };
    size_t failed = 99;
    for (int round = 0; round < 2; round++) {
        got.count = 0;
        cr_assert_eq(wordcache_encode(c, &p, &got, &failed), 0);
        cr_assert(o.calls == 1 && got.count == 6 && !memcmp(got.data, got.data + 3, 12));
    }
    p.count = 3;
    cr_assert_eq(wordcache_encode(c, &p, &got, &failed), -1);
    cr_assert_eq(failed, 2);
    cr_assert_eq(got.count, 12, "the ids before it are there");
    const size_t more[] = { 0, 5, 6, 7, 8 };
    p = (struct pieces){ "abcdeb!ca", 9, more, more + 1, 4, NULL };
    cr_assert_eq(wordcache_encode(c, &p, &got, &failed), -1);
    cr_assert_eq(failed, 2);
    cr_assert_eq(got.count, 16, "so are those of a new piece");
    cr_assert_eq(got.data[15], 'b');
    ids_release(&got);
    wordcache_free(c);
}
