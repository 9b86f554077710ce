#include "wikiprep/site/replacements.h"

#include "common/base/hash.h"
#include "common/base/utf8.h"
#include "common/files/nameset.h"

enum { BUCKETS = 4096 };

struct replacements {
    struct nameset *from;      /* the values are struct span, owned: what replaces the word */
    uint64_t lengths[BUCKETS]; /* per bucket (bucket()): bit N is set for a word of N bytes */
};

struct replacements *replacements_new(void)
{
    struct replacements *w = mem_zalloc(1, sizeof *w);
    w->from = nameset_new(sizeof(struct span));
    return w;
}

void replacements_free(struct replacements *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < nameset_count(w->from); i++)
        free((char *)((struct span *)nameset_value(w->from, i))->s);
    nameset_free(w->from);
    free(w);
}

static size_t bucket(const char *s, size_t n)
{
    unsigned first;
    return hash_bytes(s, utf8_read(s, n, &first)) % BUCKETS;
}

void replacements_put(struct replacements *w, struct word word)
{
    const size_t n = word.from.n;
    if (!n || n > WORD_MAX_BYTES || memchr(word.from.s, '\0', n))
        return;
    struct span *to = nameset_put(w->from, word.from.s, n);
    free((char *)to->s);
    *to = (struct span){ word.to.s ? mem_strndup(word.to.s, word.to.n) : NULL, word.to.n };
    w->lengths[bucket(word.from.s, n)] |= UINT64_C(1) << n;
}

size_t replacements_find(const struct replacements *first, const struct replacements *second,
                         const char *s, size_t n, struct span *to)
{
    const struct replacements *const both[] = { first, second };
    size_t b = bucket(s, n);
    uint64_t lengths = (first ? first->lengths[b] : 0) | (second ? second->lengths[b] : 0);
    if (n < WORD_MAX_BYTES)
        lengths &= (UINT64_C(2) << n) - 1;
    uint64_t hashes[WORD_MAX_BYTES + 1]; /* hashes[N]: of the first N bytes */
    hashes[0] = HASH_START;
    for (size_t i = 0; i < WORD_MAX_BYTES && lengths >> i > 1; i++)
        hashes[i + 1] = hash_more(hashes[i], s + i, 1);
    while (lengths) {
        size_t len = 63 - (size_t)__builtin_clzll(lengths);
        const uint64_t hash = hash_fold(hashes[len]);
        for (int i = 0; i < 2; i++) {
            int may = both[i] && both[i]->lengths[b] >> len & 1;
            long at = may ? nameset_find_hashed(both[i]->from, s, len, hash) : -1;
            if (at < 0)
                continue;
            *to = *(const struct span *)nameset_value(both[i]->from, (size_t)at);
            if (to->s)
                return len;
            break;
        }
        lengths ^= UINT64_C(1) << len;
    }
    return 0;
}
