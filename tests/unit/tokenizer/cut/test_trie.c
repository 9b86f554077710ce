/* The longest of some strings with which a text begins, beside a plain search. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/rng.h"
#include "tokenizer/cut/trie.h"

enum { KEYS = 40, TEXTS = 60 };

/* Sets out[] to 1 to 6 bytes, of few values or of all. Returns how many. */
static size_t draw(struct rng *r, char out[8], int few)
{
    const size_t n = 1 + rng_below(r, 6);
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(few ? 'a' + (int)rng_below(r, 2) : (int)rng_below(r, 256));
    return n;
}

Test(trie, the_longest_key)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct rng r = { .key = seed };
        char bytes[KEYS][8] = { { 0 } };
        struct trie_key keys[KEYS], sorted[KEYS];
        struct trie t = { 0 };
        for (uint32_t k = 0; k < KEYS; k++) {
            const size_t n = draw(&r, bytes[k], seed % 2);
            keys[k] = (struct trie_key){ bytes[k], n, (uint32_t)rng_below(&r, 1000) };
        }
        const size_t count = seed % 3 ? KEYS : 1;
        memcpy(sorted, keys, sizeof keys);
        trie_init(&t, sorted, count);
        for (int i = 0; i < TEXTS; i++) {
            char text[16];
            size_t n = draw(&r, text, seed % 2), best = 0, len = 99;
            n += draw(&r, text + n, seed % 2);
            if (i % 4 == 0) { /* begins with a key */
                const struct trie_key *k = &keys[rng_below(&r, count)];
                memcpy(text, k->bytes, k->len);
                n = k->len > n ? k->len : n;
            }
            uint32_t value = TRIE_NONE;
            for (size_t k = 0; k < count; k++) {
                if (keys[k].len > n || memcmp(keys[k].bytes, text, keys[k].len) != 0)
                    continue;
                /* of equal keys the least value counts */
                if (keys[k].len > best || (keys[k].len == best && keys[k].value < value))
                    value = keys[k].value;
                best = keys[k].len > best ? keys[k].len : best;
            }
            cr_assert_eq(trie_longest(&t, TRIE_ROOT, text, n, &len), value, "seed %d", (int)seed);
            cr_assert_eq(len, best, "seed %d", (int)seed);
        }
        trie_release(&t);
    }
}
