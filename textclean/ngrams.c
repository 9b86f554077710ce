#include "textclean/ngrams.h"

#include "common/base/utf8.h"
#include "common/base/xxh64.h"
#include "textclean/words.h"
#include "unicode/letter_case.h"
#include "unicode/unicode.h"
#include "unicode/whitespace.h"

void ngrams_init(struct ngrams *g, size_t words, size_t least, uint64_t memory)
{
    *g = (struct ngrams){ .words = words, .least = least };
    firsts_init(&g->firsts, memory, 0);
}

void ngrams_release(struct ngrams *g)
{
    firsts_release(&g->firsts);
}

/* ---- words ----------------------------------------------------------------------------------- */

void ngram_words_init(struct ngram_words *w)
{
    *w = (struct ngram_words){ .word = BUF_INIT };
}

void ngram_words_release(struct ngram_words *w)
{
    free(w->list);
    buf_release(&w->word);
}

static int is_mark(unsigned c)
{
    enum unicode_category category = (enum unicode_category)unicode_of(c)->category;
    return (category >= UNICODE_PC && category <= UNICODE_PO) ||
           unicode_is(c, UNICODE_IS_CCNET_PUNCTUATION);
}

/* Adds the word text[begin..end), unless it is only punctuation. */
static void add_word(struct ngram_words *w, const char *text, size_t begin, size_t end)
{
    unsigned c;
    buf_clear(&w->word);
    for (size_t at = begin, k; at < end; at += k) {
        k = utf8_read(text + at, end - at, &c);
        if (c < 0x80 && (c | 0x20) >= 'a' && (c | 0x20) <= 'z')
            buf_addc(&w->word, (int)(c | 0x20));
        else if (!is_mark(c))
            utf8_add(&w->word, letter_case_lower(c));
    }
    if (!w->word.len)
        return;
    mem_grow(w->list, w->cap, w->count + 1);
    uint64_t before = w->count ? w->list[w->count - 1].sum : 0;
    w->list[w->count++] = (struct ngram_word){
        begin, end, before * WORDS_BASE + xxh64(w->word.data, w->word.len, 0)
    };
}

void ngram_words_set(struct ngram_words *w, const char *text, size_t n)
{
    w->count = 0;
    for (size_t at = 0, k; at < n; at += k)
        if (!(k = whitespace_at(text + at, n - at))) {
            k = whitespace_word(text + at, n - at);
            add_word(w, text, at, at + k);
        }
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Returns the key of the run of n words from `first` on; p is words_power(n). */
static struct key key_of(const struct ngram_words *w, size_t first, size_t n, uint64_t p)
{
    uint64_t before = first ? w->list[first - 1].sum : 0;
    uint64_t h = w->list[first + n - 1].sum - before * p;
    return (struct key){ (h ^ h >> 32) * XXH64_2, n };
}

int64_t ngrams_add(struct ngrams *g, const struct ngram_words *w, uint64_t source)
{
    size_t n = w->count < g->words ? w->count : g->words;
    uint64_t p = words_power(n), first;
    if (!n || (n < g->words && n < g->least))
        return 0;
    g->lengths[n] = 1;
    for (size_t i = 0; i + n <= w->count; i++) {
        struct key key = key_of(w, i, n, p);
        if (firsts_add(&g->firsts, &key, source, &first) < 0)
            return err_set("the words of the tests do not fit --memory: give more");
    }
    return (int64_t)(w->count - n + 1);
}

int ngrams_find(const struct ngrams *g, const struct ngram_words *w, size_t *at, size_t *words,
                uint64_t *source)
{
    uint64_t powers[NGRAMS_MOST + 1];
    for (size_t n = 0; n <= g->words; n++)
        powers[n] = g->lengths[n] ? words_power(n) : 0;
    for (; *at < w->count; ++*at)
        for (size_t n = g->words; n; n--) {
            if (!g->lengths[n] || *at + n > w->count)
                continue;
            struct key key = key_of(w, *at, n, powers[n]);
            if (firsts_find(&g->firsts, &key, source)) {
                *words = n;
                return 1;
            }
        }
    return 0;
}
