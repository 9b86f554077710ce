/* Merging, the list of merges derived from ranks, and learning, each against a plain version. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/rng.h"
#include "tokenizer/bpe.h"
#include "tokenizer/learn.h"
#include "tokenizer/vocabulary.h"

/* Bytes are their own ids. */
static void identity(int64_t byte_ids[256])
{
    for (int i = 0; i < 256; i++)
        byte_ids[i] = i;
}

/* By the definition: search the whole piece for the least rank, merge its leftmost place. */
static void encode_plainly(struct ids *out, const struct bpe_merge *merges, size_t count,
                           const char *piece, size_t n)
{
    out->count = 0;
    for (size_t i = 0; i < n; i++)
        ids_add(out, (unsigned char)piece[i]);
    for (size_t rank = 0; rank < count;) {
        size_t i = 0;
        while (i + 1 < out->count && (out->data[i] != merges[rank].left ||
                                      out->data[i + 1] != merges[rank].right))
            i++;
        if (i + 1 >= out->count) {
            rank++;
            continue;
        }
        out->data[i] = merges[rank].id;
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
        merges[i] = (struct bpe_merge){ left, right, 256 + (uint32_t)i };
        for (size_t k = 0; k < i; k++)
            if (merges[k].left == left && merges[k].right == right)
                return i; /* each pair once */
        if (known < 64)
            letters[known++] = 256 + (uint32_t)i;
    }
    return count;
}

Test(bpe, short_and_long_pieces_merge_as_defined)
{
    struct rng r = { rng_key(0, 5), 0 };
    struct bpe_scratch scratch = { 0 };
    struct bpe_merge merges[40];
    struct ids want = { 0 }, got = { 0 };
    int64_t byte_ids[256];
    char piece[400];
    identity(byte_ids);
    for (int round = 0; round < 300; round++) {
        size_t count = random_merges(merges, &r, 40);
        for (size_t i = count; i > 1; i--) { /* ranks in any order */
            size_t k = rng_below(&r, i);
            struct bpe_merge keep = merges[i - 1];
            merges[i - 1] = merges[k];
            merges[k] = keep;
        }
        struct bpe *b = bpe_new(byte_ids, merges, count);
        for (int i = 0; i < 20; i++) {
            size_t n = 1 + rng_below(&r, i % 2 ? 20 : sizeof piece - 1);
            for (size_t k = 0; k < n; k++)
                piece[k] = "abcd"[rng_below(&r, 4)];
            encode_plainly(&want, merges, count, piece, n);
            got.count = 0;
            cr_assert_eq(bpe_encode(b, &scratch, piece, n, &got), 0);
            cr_assert_eq(got.count, want.count);
            cr_assert(!memcmp(got.data, want.data, got.count * sizeof *got.data));
        }
        bpe_free(b);
    }
    bpe_scratch_release(&scratch);
    ids_release(&want);
    ids_release(&got);
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
        merges[i] = (struct bpe_merge){ part, part, 256 + i };
    }
    struct bpe *b = bpe_new(byte_ids, merges, 16);
    cr_assert_eq(bpe_encode(b, &scratch, piece, N, &got), 0);
    cr_assert_eq(got.count, N >> 16);
    cr_assert_eq(got.data[0], 271);
    bpe_free(b);
    bpe_scratch_release(&scratch);
    ids_release(&got);
    free(piece);
}

Test(bpe, a_byte_without_token_is_an_error)
{
    struct bpe_scratch scratch = { 0 };
    struct ids got = { 0 };
    int64_t byte_ids[256];
    identity(byte_ids);
    byte_ids['z'] = -1;
    struct bpe *b = bpe_new(byte_ids, NULL, 0);
    cr_assert_eq(bpe_encode(b, &scratch, "abz", 3, &got), -1);
    cr_assert(strstr(err_get(), "byte 0x7A"), "%s", err_get());
    cr_assert_eq(bpe_encode(b, &scratch, "abc", 3, &got), 0);
    cr_assert_eq(got.count, 3);
    bpe_free(b);
    ids_release(&got);
}

/* ---- the byte alphabet ------------------------------------------------------------------------ */

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
    cr_assert_eq(vocabulary_check(&v), -1);
    cr_assert(strstr(err_get(), "id 1 has no token"), "%s", err_get());
    cr_assert_eq(vocabulary_put(&v, 1, "a", 1, TOKEN_MODEL), -1);
    cr_assert_eq(vocabulary_put(&v, 2, "c", 1, TOKEN_MODEL), -1);
    cr_assert_eq(vocabulary_put(&v, -1, "c", 1, TOKEN_MODEL), -1);
    cr_assert_eq(vocabulary_put(&v, VOCABULARY_MAX, "c", 1, TOKEN_MODEL), -1);
    cr_assert_eq(vocabulary_put(&v, 1, "b", 1, TOKEN_ADDED), 0);
    cr_assert_eq(vocabulary_find(&v, "b", 1), 2, "the model's token is found");
    cr_assert_eq(vocabulary_check(&v), 0);
    vocabulary_release(&v);
}

/* ---- learning --------------------------------------------------------------------------------- */

/* Counts all pairs of all words again for each merge. */
static size_t learn_plainly(struct bpe_merge *merges, size_t max, const char *const *words,
                            const uint64_t *counts, size_t n, const int64_t byte_ids[256],
                            uint32_t next)
{
    static uint64_t pairs[256][256];
    uint32_t tokens[8][64];
    size_t len[8], made = 0;
    for (size_t w = 0; w < n; w++)
        for (len[w] = 0; words[w][len[w]]; len[w]++)
            tokens[w][len[w]] = (uint32_t)byte_ids[(unsigned char)words[w][len[w]]];
    for (; made < max; made++, next++) {
        uint64_t most = 0;
        uint32_t left = 0, right = 0;
        memset(pairs, 0, sizeof pairs);
        for (size_t w = 0; w < n; w++)
            for (size_t i = 0; i + 1 < len[w]; i++)
                pairs[tokens[w][i]][tokens[w][i + 1]] += counts[w];
        for (uint32_t a = 0; a < next; a++)
            for (uint32_t b = 0; b < next; b++)
                if (pairs[a][b] > most) {
                    most = pairs[a][b];
                    left = a;
                    right = b;
                }
        if (!most)
            break;
        merges[made] = (struct bpe_merge){ left, right, next };
        for (size_t w = 0; w < n; w++)
            for (size_t i = 0; i + 1 < len[w]; i++)
                if (tokens[w][i] == left && tokens[w][i + 1] == right) {
                    tokens[w][i] = next;
                    memmove(tokens[w] + i + 1, tokens[w] + i + 2,
                            (len[w] - i - 2) * sizeof **tokens);
                    len[w]--;
                }
    }
    return made;
}

Test(learn, merges_are_those_of_a_plain_count)
{
    static const char *const words[] = { "low", "lowerr", "newest", "widest", "weewe", "oolong" };
    static const uint64_t counts[] = { 5, 2, 6, 3, 6, 1 };
    const char *no_special[1] = { NULL };
    struct learn_options o = { .vocabulary_size = 40, .special = no_special, .seen_bytes_only = 1 };
    struct bpe_merge want[64];
    struct word_counts *w = word_counts_new();
    struct vocabulary v;
    for (size_t i = 0; i < 6; i++)
        for (uint64_t k = 0; k < counts[i]; k++)
            word_counts_add(w, words[i], strlen(words[i]));
    cr_assert_eq(word_counts_words(w), 6);
    cr_assert_eq(learn(&v, w, &o), 0, "%s", err_get());
    int64_t byte_ids[256];
    vocabulary_byte_ids(&v, byte_ids);
    uint32_t alphabet = v.count - (uint32_t)v.merge_count;
    size_t made = learn_plainly(want, 40 - alphabet, words, counts, 6, byte_ids, alphabet);
    cr_assert_gt(made, 10);
    cr_assert_eq(v.merge_count, made);
    cr_assert(!memcmp(v.merges, want, made * sizeof *want));
    word_counts_free(w);
    vocabulary_release(&v);
}

static void learn_text(struct vocabulary *v, const char *text, const struct learn_options *o,
                       int expect)
{
    struct word_counts *w = word_counts_new();
    word_counts_add(w, text, strlen(text));
    cr_assert_eq(learn(v, w, o), expect, "%s", err_get());
    word_counts_free(w);
}

Test(learn, special_tokens_then_alphabet_then_merges)
{
    const char *special[] = { "<|endoftext|>", "<pad>" };
    struct learn_options o = { .vocabulary_size = 258, .special = special, .special_count = 2 };
    struct vocabulary v;
    learn_text(&v, "aa aa aa", &o, 0);
    cr_assert_eq(v.count, 258);
    cr_assert_eq(v.end_of_text, 0);
    cr_assert_eq(vocabulary_find(&v, "<pad>", 5), 1);
    cr_assert_eq(vocabulary_find(&v, "!", 1), 2);
    cr_assert_eq(vocabulary_find(&v, "\0", 1), 2 + 188, "the first that does not print");
    vocabulary_release(&v);
    o.vocabulary_size = 259;
    learn_text(&v, "aa aa aa", &o, 0);
    cr_assert_eq(vocabulary_find(&v, "aa", 2), 258, "3 times, and before (space, a) by its ids");
    vocabulary_release(&v);
}

Test(learn, too_small_and_colliding_are_errors)
{
    const char *special[] = { "ab", "ab" };
    struct learn_options o = { .vocabulary_size = 100, .special = special, .special_count = 1 };
    struct vocabulary v;
    learn_text(&v, "ab ab", &o, -1);
    cr_assert(strstr(err_get(), "too small"), "%s", err_get());
    o.vocabulary_size = 300;
    learn_text(&v, "ab ab", &o, -1);
    cr_assert(strstr(err_get(), "is learned as well"), "%s", err_get());
    o.special_count = 2;
    learn_text(&v, "ab ab", &o, -1);
    cr_assert(strstr(err_get(), "given twice"), "%s", err_get());
}

Test(learn, counting_in_parts_gives_the_same)
{
    const char *none[1] = { NULL };
    struct learn_options o = { .vocabulary_size = 268, .special = none };
    struct vocabulary one, two;
    const char *a = "the cat sat on the mat", *b = " that the rat had";
    struct word_counts *x = word_counts_new(), *y = word_counts_new();
    word_counts_add(x, b, strlen(b));
    word_counts_add(y, a, strlen(a));
    word_counts_merge(x, y);
    cr_assert_eq(learn(&one, x, &o), 0);
    learn_text(&two, "the cat sat on the mat that the rat had", &o, 0);
    cr_assert_eq(one.count, 268);
    cr_assert(one.count == two.count && one.merge_count == two.merge_count &&
              !memcmp(one.merges, two.merges, one.merge_count * sizeof *one.merges));
    word_counts_free(x);
    word_counts_free(y);
    vocabulary_release(&one);
    vocabulary_release(&two);
}

Test(vocabulary, merges_derived_from_ranks_are_those_learned)
{
    const char *none[1] = { NULL };
    struct learn_options o = { .vocabulary_size = 290, .special = none };
    struct vocabulary v;
    learn_text(&v, "banana bandana ananas the banal cabana and the bananas", &o, 0);
    size_t count = v.merge_count;
    struct bpe_merge *learned = mem_alloc(count * sizeof *learned);
    memcpy(learned, v.merges, count * sizeof *learned);
    cr_assert_eq(vocabulary_derive_merges(&v), 0, "%s", err_get());
    cr_assert_eq(v.merge_count, count);
    cr_assert(!memcmp(learned, v.merges, count * sizeof *learned));
    free(learned);
    vocabulary_release(&v);
}
