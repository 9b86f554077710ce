/* Compares merging, and the vocabulary of merges, with simple implementations. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "common/base/simd.h"
#include "tokenizer/cut/pieces.h"
#include "tokenizer/model/alphabet.h"
#include "tokenizer/model/bpe.h"
#include "tokenizer/model/pairs.h"
#include "tokenizer/model/vocabulary.h"

/* Sets the id of each byte to the byte. */
static void identity(int64_t byte_ids[256])
{
    for (int i = 0; i < 256; i++)
        byte_ids[i] = i;
}

/* Encodes pieces together: those of piece i end before out->data[ends[i]]. */
static int encode_all(const struct bpe *b, struct bpe_scratch *scratch, const struct pieces *p,
                      struct ids *out, size_t *ends)
{
    enum { MOST = 64 };
    struct ids begun = { 0 };
    size_t list_ends[MOST];
    int result = 0;
    for (size_t i = 0; i < p->count && !result; i++) {
        result = bpe_begin(b, p->text + p->begins[i], p->ends[i] - p->begins[i], &begun);
        list_ends[i] = begun.count;
    }
    if (!result)
        bpe_merge(b, scratch, begun.data, list_ends, p->count, out, ends);
    ids_release(&begun);
    return result;
}

static int encode(const struct bpe *b, struct bpe_scratch *scratch, const char *piece, size_t n,
                  struct ids *out)
{
    size_t begin = 0, end;
    const struct pieces p = { .text = piece, .begins = &begin, .ends = &n, .count = 1 };
    return encode_all(b, scratch, &p, out, &end);
}

/* Returns the merge of two tokens among the merges from `rank` to `last`, or NULL. */
static const struct bpe_merge *find_merge(const struct bpe_merge *merges, size_t rank, size_t last,
                                          const uint32_t *tokens)
{
    for (; rank <= last; rank++)
        if (tokens[0] == merges[rank].left && tokens[1] == merges[rank].right)
            return &merges[rank];
    return NULL;
}

/* Encodes a piece by the definition: searches the whole piece for the merge of least rank or one
 * that is tied with it, merges its leftmost place, and begins again. Writes the ids to `out`. */
static void encode_plainly(struct ids *out, const struct bpe_merge *merges, size_t count,
                           const char *piece, size_t n)
{
    out->count = 0;
    for (size_t i = 0; i < n; i++)
        ids_add(out, (unsigned char)piece[i]);
    for (size_t rank = 0; rank < count;) {
        size_t i = 0, last = rank;
        const struct bpe_merge *found = NULL;
        while (last + 1 < count && merges[last + 1].tied)
            last++;
        while (i + 1 < out->count && !(found = find_merge(merges, rank, last, out->data + i)))
            i++;
        if (!found) {
            rank = last + 1;
            continue;
        }
        out->data[i] = found->id;
        memmove(out->data + i + 1, out->data + i + 2, (out->count - i - 2) * sizeof *out->data);
        out->count--;
        rank = 0; /* the new token may stand in an earlier merge */
    }
}

static size_t random_merges(struct bpe_merge *merges, struct rng *r, size_t count)
{
    uint32_t letters[64], known = 0;
    for (const char *c = "abc"; *c; c++)
        letters[known++] = (uint32_t)*c;
    for (size_t i = 0; i < count; i++) {
        uint32_t left = letters[rng_below(r, known)], right = letters[rng_below(r, known)];
        merges[i] = (struct bpe_merge){ left, right, 256 + (uint32_t)i, 0 };
        for (size_t k = 0; k < i; k++)
            if (merges[k].left == left && merges[k].right == right)
                return i; /* each pair once */
        if (known < 64)
            letters[known++] = 256 + (uint32_t)i;
    }
    return count;
}

static void shuffle(struct bpe_merge *merges, struct rng *r, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t k = rng_below(r, i);
        struct bpe_merge keep = merges[i - 1];
        merges[i - 1] = merges[k];
        merges[k] = keep;
    }
}

static void expect_ids(const struct bpe *b, struct bpe_scratch *scratch, const char *piece,
                       size_t n, const struct ids *want)
{
    struct ids got = { 0 };
    for (int level = SIMD_PLAIN; level < SIMD_LEVELS; level++) {
        if (simd_use((enum simd_level)level) < 0)
            continue;
        got.count = 0;
        cr_assert_eq(encode(b, scratch, piece, n, &got), 0);
        cr_assert_eq(got.count, want->count);
        cr_assert(!memcmp(got.data, want->data, got.count * sizeof *got.data));
    }
    ids_release(&got);
}

Test(bpe, short_and_long_pieces_merge_as_defined)
{
    struct rng r = { rng_key(0, 5), 0 };
    struct bpe_scratch scratch = { 0 };
    struct bpe_merge merges[40];
    struct ids want = { 0 };
    int64_t byte_ids[256];
    char piece[400];
    identity(byte_ids);
    for (int round = 0; round < 300; round++) {
        size_t count = random_merges(merges, &r, 40);
        shuffle(merges, &r, count);
        for (size_t i = 1; i < count && round % 2; i++)
            merges[i].tied = !rng_below(&r, 3);
        struct bpe *b = bpe_new(byte_ids, merges, count, 0);
        for (int i = 0; i < 20; i++) {
            static const size_t lengths[] = { 20, 66, sizeof piece - 1 };
            size_t n = 1 + rng_below(&r, lengths[i % 3]);
            for (size_t k = 0; k < n; k++)
                piece[k] = "abcd"[rng_below(&r, 4)];
            encode_plainly(&want, merges, count, piece, n);
            expect_ids(b, &scratch, piece, n, &want);
        }
        bpe_free(b);
    }
    bpe_scratch_release(&scratch);
    ids_release(&want);
}

/* Writes up to n random bytes to `text`: characters of one to four bytes and, sometimes, a byte
 * that is not UTF-8. Returns their number. */
static size_t random_characters(char *text, struct rng *r, size_t n)
{
    static const char *const characters[] = { " ",
                                              "a",
                                              "\xC3\xA9",
                                              "\xC3\xA8",
                                              "\xC2\xA9",
                                              "\xE2\x82\xAC",
                                              "\xE2\x82\xA9",
                                              "\xF0\x9F\x98\x80" };
    size_t at = 0;
    for (;;) {
        const char *c = characters[rng_below(r, 8)];
        size_t len = strlen(c), from = rng_below(r, 10) ? 0 : rng_below(r, len);
        if (at + len - from > n)
            return at;
        memcpy(text + at, c + from, len - from);
        at += len - from;
    }
}

/* Makes `count` merges, each of a random pair of neighbours in the text after the merges before
 * it. */
static void merges_of_text(struct bpe_merge *merges, size_t count, const char *text, size_t n)
{
    struct rng r = { rng_key(0, 9), n + count };
    struct ids ids = { 0 };
    for (size_t i = 0; i < n; i++)
        ids_add(&ids, (unsigned char)text[i]);
    for (size_t i = 0; i < count; i++) {
        size_t at = rng_below(&r, ids.count - 1), kept = 0;
        merges[i] = (struct bpe_merge){ ids.data[at], ids.data[at + 1], 256 + (uint32_t)i, 0 };
        for (size_t k = 0; k < ids.count; k++, kept++) {
            int here = k + 1 < ids.count && ids.data[k] == merges[i].left &&
                       ids.data[k + 1] == merges[i].right;
            ids.data[kept] = here ? merges[i].id : ids.data[k];
            k += (size_t)here;
        }
        ids.count = kept;
    }
    ids_release(&ids);
}

Test(bpe, characters_of_several_bytes_merge_as_defined)
{
    enum { MERGES = 40, TEXT = 600 };
    struct rng r = { rng_key(0, 6), 0 };
    struct bpe_scratch scratch = { 0 };
    struct bpe_merge merges[MERGES];
    struct ids want = { 0 };
    int64_t byte_ids[256];
    char text[TEXT];
    identity(byte_ids);
    for (int round = 0; round < 300; round++) {
        merges_of_text(merges, MERGES, text, random_characters(text, &r, TEXT));
        if (round % 4 == 0)
            shuffle(merges, &r, MERGES);
        struct bpe *b = bpe_new(byte_ids, merges, MERGES, 0);
        for (int i = 0; i < 20; i++) {
            size_t n = random_characters(text, &r, i % 3 ? 20 : 120);
            encode_plainly(&want, merges, MERGES, text, n);
            expect_ids(b, &scratch, text, n, &want);
        }
        bpe_free(b);
    }
    bpe_scratch_release(&scratch);
    ids_release(&want);
}

/* Many short and long pieces that are merged together must get the same ids as each alone. */
Test(bpe, pieces_together_are_as_each_alone)
{
    enum { MERGES = 40, TEXT = 4000, PIECES = 50 };
    struct rng r = { rng_key(0, 10), 0 };
    struct bpe_scratch scratch = { 0 };
    struct bpe_merge merges[MERGES];
    struct ids want = { 0 }, got = { 0 };
    int64_t byte_ids[256];
    char text[TEXT];
    size_t bounds[PIECES + 1] = { 0 }, ends[PIECES];
    identity(byte_ids);
    merges_of_text(merges, MERGES, text, random_characters(text, &r, TEXT));
    struct bpe *b = bpe_new(byte_ids, merges, MERGES, 0);
    for (int level = SIMD_PLAIN; level < SIMD_LEVELS; level++) {
        if (simd_use((enum simd_level)level) < 0)
            continue;
        for (int i = 0; i < PIECES; i++)
            bounds[i + 1] = bounds[i] + 1 + rng_below(&r, rng_below(&r, 8) ? 12 : 200);
        struct pieces p = { text, TEXT, bounds, bounds + 1, PIECES, NULL };
        got.count = 0;
        cr_assert_eq(encode_all(b, &scratch, &p, &got, ends), 0);
        for (int i = 0; i < PIECES; i++) {
            size_t begin = i ? ends[i - 1] : 0;
            want.count = 0;
            cr_assert_eq(encode(b, &scratch, text + bounds[i], bounds[i + 1] - bounds[i], &want),
                         0);
            cr_assert_eq(ends[i] - begin, want.count);
            cr_assert(!memcmp(got.data + begin, want.data, want.count * sizeof *want.data));
        }
        cr_assert_eq(ends[PIECES - 1], got.count);
    }
    bpe_free(b);
    bpe_scratch_release(&scratch);
    ids_release(&want);
    ids_release(&got);
}

Test(pairs, every_merge_is_found_and_no_other)
{
    enum { MAX = 5000, IDS = 300 };
    struct bpe_merge *merges = malloc(MAX * sizeof *merges);
    uint32_t *last = malloc(IDS * IDS * sizeof *last);
    struct rng r = { rng_key(0, 77), 0 };
    static const size_t counts[] = { 0, 1, 2, 3, 10, 100, 1000, MAX };
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        struct pairs p;
        memset(last, 0xFF, IDS * IDS * sizeof *last);
        for (size_t i = 0; i < counts[k]; i++) { /* some pairs twice */
            merges[i] = (struct bpe_merge){ (uint32_t)rng_below(&r, IDS),
                                            (uint32_t)rng_below(&r, IDS), (uint32_t)i * 7, 0 };
            last[merges[i].left * IDS + merges[i].right] = (uint32_t)i;
        }
        pairs_init(&p, merges, counts[k]);
        for (uint32_t a = 0; a < IDS; a++) {
            for (uint32_t b = 0; b < IDS; b++) {
                uint32_t rank = pairs_find(&p, a, b);
                cr_assert_eq(rank, last[a * IDS + b]);
                cr_assert(rank == PAIR_NONE || p.ids[rank] == rank * 7);
            }
            cr_assert_eq(pairs_find(&p, PAIR_NONE, a), PAIR_NONE);
            cr_assert_eq(pairs_find(&p, a, PAIR_NONE), PAIR_NONE);
        }
        pairs_release(&p);
    }
    free(merges);
    free(last);
}

Test(bpe, a_million_bytes_of_one_character, .timeout = 20)
{
    enum { N = 1 << 20 };
    struct bpe_merge merges[16];
    struct bpe_scratch scratch = { 0 };
    struct ids got = { 0 };
    int64_t byte_ids[256];
    char *piece = malloc(N);
    memset(piece, 'a', N);
    identity(byte_ids);
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t part = i ? 255 + i : 'a';
        merges[i] = (struct bpe_merge){ part, part, 256 + i, 0 };
    }
    struct bpe *b = bpe_new(byte_ids, merges, 16, 0);
    cr_assert_eq(encode(b, &scratch, piece, N, &got), 0);
    cr_assert_eq(got.count, N >> 16);
    cr_assert_eq(got.data[0], 271);
    bpe_free(b);
    bpe_scratch_release(&scratch);
    ids_release(&got);
    free(piece);
}

/* Of several places with the same merge the leftmost must be merged first, also in pieces that are
 * so long that a heap is used. */
Test(bpe, equal_ranks_merge_from_the_left)
{
    enum { LONGEST = 400 };
    static const struct bpe_merge merges[] = { { 'a', 'a', 256, 0 },
                                               { 256, 'a', 257, 0 },
                                               { 'b', 'a', 258, 0 },
                                               { 258, 'b', 259, 0 },
                                               { 'a', 'b', 260, 0 } };
    struct bpe_scratch scratch = { 0 };
    struct ids got = { 0 }, want = { 0 };
    int64_t byte_ids[256];
    char piece[LONGEST];
    identity(byte_ids);
    struct bpe *b = bpe_new(byte_ids, merges, 5, 0);
    for (size_t n = 61; n < LONGEST; n += 7)
        for (unsigned period = 1; period < 6; period++) {
            for (size_t i = 0; i < n; i++)
                piece[i] = i % period == period - 1 && period > 1 ? 'b' : 'a';
            got.count = 0;
            encode_plainly(&want, merges, 5, piece, n);
            cr_assert_eq(encode(b, &scratch, piece, n, &got), 0);
            cr_assert_eq(got.count, want.count, "n=%zu period=%u", n, period);
            cr_assert(!memcmp(got.data, want.data, got.count * sizeof *got.data), "n=%zu period=%u",
                      n, period);
        }
    bpe_free(b);
    bpe_scratch_release(&scratch);
    ids_release(&got);
    ids_release(&want);
}

/* The rest of a piece is merged even if a byte without a token was dropped between. */
Test(bpe, bytes_without_token_are_dropped_on_demand)
{
    static const struct bpe_merge merges[] = { { 'a', 'b', 256, 0 } };
    static const char text[] = "zzazbczab";
    size_t begins[] = { 0, 2, 6, 7 }, bounds[] = { 2, 6, 7, 9 }, ends[4];
    struct bpe_scratch scratch = { 0 };
    struct ids got = { 0 };
    int64_t byte_ids[256];
    identity(byte_ids);
    byte_ids['z'] = -1;
    struct bpe *b = bpe_new(byte_ids, merges, 1, 1);
    struct pieces p = { text, sizeof text - 1, begins, bounds, 4, NULL };
    cr_assert_eq(encode_all(b, &scratch, &p, &got, ends), 0, "%s", err_get());
    cr_expect(ends[0] == 0 && ends[1] == 2 && ends[2] == 2 && ends[3] == 3);
    cr_assert_eq(got.count, 3);
    cr_expect(got.data[0] == 256 && got.data[1] == 'c' && got.data[2] == 256);
    bpe_free(b);
    bpe_scratch_release(&scratch);
    ids_release(&got);
}

Test(bpe, a_byte_without_token_is_an_error)
{
    struct bpe_scratch scratch = { 0 };
    struct ids got = { 0 };
    int64_t byte_ids[256];
    identity(byte_ids);
    byte_ids['z'] = -1;
    struct bpe *b = bpe_new(byte_ids, NULL, 0, 0);
    cr_assert_eq(encode(b, &scratch, "abz", 3, &got), -1);
    cr_assert(strstr(err_get(), "byte 0x7A"), "%s", err_get());
    cr_assert_eq(encode(b, &scratch, "abc", 3, &got), 0);
    cr_assert_eq(got.count, 3);
    bpe_free(b);
    bpe_scratch_release(&scratch);
    ids_release(&got);
}

/* ---- the byte alphabet ----------------------------------------------------------------------- */

Test(vocabulary, the_alphabet_has_a_character_for_each_byte)
{
    struct buf name = BUF_INIT, back = BUF_INIT;
    cr_assert_eq(alphabet_char(' '), 0x120);
    cr_assert_eq(alphabet_char('\n'), 0x10A);
    cr_assert_eq(alphabet_char(0), 0x100);
    cr_assert_eq(alphabet_char(0x7F), 0x121);
    cr_assert_eq(alphabet_char(0xAD), 0x143);
    cr_assert_eq(alphabet_char('!'), '!');
    for (int b = 0; b < 256; b++) {
        char byte = (char)b;
        buf_clear(&name);
        buf_clear(&back);
        alphabet_encode(&name, &byte, 1);
        cr_assert_eq(alphabet_decode(&back, name.data, name.len), 0);
        cr_assert(back.len == 1 && back.data[0] == byte);
    }
    cr_assert_eq(alphabet_decode(&back, " ", 1), -1);
    cr_assert_eq(alphabet_decode(&back, "\xC5\x84", 2), -1, "U+0144 is behind the last");
    cr_assert_eq(back.len, 1);
    buf_release(&name);
    buf_release(&back);
}

Test(vocabulary, ids_and_bytes_are_given_once)
{
    struct vocabulary v;
    vocabulary_init(&v);
    cr_assert_eq(vocabulary_put(&v, 0, "a", 1, TOKEN_MODEL), 0);
    cr_assert_eq(vocabulary_put(&v, 2, "b", 1, TOKEN_MODEL), 0);
    cr_assert_eq(vocabulary_check(&v), 0);
    cr_assert_eq(vocabulary_hole(&v), 1);
    cr_assert_eq(vocabulary_check_full(&v), -1);
    cr_assert(strstr(err_get(), "id 1 has no token"), "%s", err_get());
    cr_assert_eq(vocabulary_put(&v, 1, "a", 1, TOKEN_MODEL), -1);
    cr_assert_eq(vocabulary_put(&v, 2, "c", 1, TOKEN_MODEL), -1);
    cr_assert_eq(vocabulary_put(&v, -1, "c", 1, TOKEN_MODEL), -1);
    cr_assert_eq(vocabulary_put(&v, VOCABULARY_MAX, "c", 1, TOKEN_MODEL), -1);
    cr_assert_eq(vocabulary_put(&v, 1, "b", 1, TOKEN_ADDED), 0);
    cr_assert_eq(vocabulary_find(&v, "b", 1), 2, "the model's token is found");
    cr_assert_eq(vocabulary_check_full(&v), 0);
    vocabulary_release(&v);
}

Test(bpe, a_merge_that_occurs_often_takes_linear_time, .timeout = 60)
{
    enum { COUNT = 2000000 };
    struct bpe_merge *merges = mem_zalloc(COUNT, sizeof *merges);
    struct pairs p;
    for (int i = 0; i < COUNT; i++)
        merges[i] = (struct bpe_merge){ 1, 2, 3, 0 };
    pairs_init(&p, merges, COUNT);
    cr_expect_eq(pairs_find(&p, 1, 2), COUNT - 1);
    cr_expect_eq(pairs_find(&p, 2, 1), PAIR_NONE);
    pairs_release(&p);
    free(merges);
}
