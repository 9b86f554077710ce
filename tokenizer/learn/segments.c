#include "tokenizer/learn/segments.h"

#include "common/base/order.h"
#include "common/base/utf8.h"
#include "unicode/unicode.h"

enum { SPACE = 0x2581, ANY = UINT16_MAX };

/* ---- the alphabet --------------------------------------------------------------------------- */

static uint64_t *count_characters(const struct counted_words *words)
{
    uint64_t *counts = mem_zalloc(UNICODE_LIMIT, sizeof *counts);
    size_t len;
    for (size_t w = 0; w < words->count; w++) {
        const struct counted_word *word = &words->words[w];
        const unsigned char *text = (const unsigned char *)words->bytes.data + word->at;
        for (size_t i = 0; i < word->len; i += len)
            counts[utf8_get(text + i, &len)] += word->count;
    }
    return counts;
}

/* Chooses the alphabet. Returns an array with a 1 for each of its code points. */
static unsigned char *choose_alphabet(struct segments *s, const struct counted_words *words,
                                      double coverage)
{
    SCOPED_MEM uint64_t *counts = count_characters(words);
    uint64_t total = 0, covered = 0;
    unsigned char *chosen = mem_zalloc(UNICODE_LIMIT, 1);
    SCOPED_MEM struct order_rank *all = NULL;
    size_t count = 0, cap = 0;
    for (uint32_t c = 1; c < UNICODE_LIMIT; c++) {
        if (!counts[c])
            continue;
        mem_next(all, count, cap) = (struct order_rank){ (double)counts[c], c };
        total += counts[c];
    }
    mem_sort(all, count, order_ranks);
    s->alphabet = mem_alloc((count + 1) * sizeof *s->alphabet);
    for (size_t i = 0; i < count && (double)covered < coverage * (double)total; i++) {
        chosen[all[i].item] = 1;
        covered += counts[all[i].item];
    }
    for (uint32_t c = 1; c < UNICODE_LIMIT; c++)
        if (chosen[c])
            s->alphabet[s->alphabet_count++] = c;
    return chosen;
}

/* ---- cutting -------------------------------------------------------------------------------- */

/* Returns the end of the segment that begins at text[at], which is in the alphabet. */
static size_t segment_end(const unsigned char *text, size_t n, size_t at,
                          const unsigned char *chosen)
{
    uint32_t script = ANY;
    size_t len;
    for (size_t i = at; i < n; i += len) {
        uint32_t c = utf8_get(text + i, &len);
        if (!chosen[c] || (c == SPACE && i > at))
            return i;
        uint32_t own = c == SPACE ? ANY : unicode_script(c);
        if (own == UNICODE_INHERITED)
            own = script;
        if (own != ANY && script != ANY && own != script)
            return i;
        script = own;
    }
    return n;
}

static void cut_word(struct word_counts *parts, const char *word, size_t n, uint64_t count,
                     const unsigned char *chosen)
{
    const unsigned char *text = (const unsigned char *)word;
    for (size_t at = 0, end, len; at < n; at = end) {
        if (!chosen[utf8_get(text + at, &len)]) {
            end = at + len;
            continue;
        }
        end = segment_end(text, n, at, chosen);
        word_counts_add(parts, word + at, end - at, count); /* cannot fail without a limit */
    }
}

struct putting {
    struct segments *s;
    size_t text_cap, items_cap;
};

static int put_segment(void *ctx, const char *bytes, size_t n, uint64_t count)
{
    struct putting *p = ctx;
    struct segments *s = p->s;
    size_t at = s->length, len;
    if (at + n >= UINT32_MAX)
        return err_set("the words are too many: together they have more than 4 billion characters; "
                       "leave out rare words with --min-word-count");
    mem_grow(s->text, p->text_cap, at + n + 1);
    for (size_t i = 0; i < n; i += len)
        s->text[s->length++] = utf8_get((const unsigned char *)bytes + i, &len);
    mem_next(s->items, s->count,
             p->items_cap) = (struct segment){ (uint32_t)at, (uint32_t)(s->length - at), count };
    s->text[s->length++] = 0;
    return 0;
}

int segments_cut(struct segments *s, const struct counted_words *words, double coverage)
{
    struct putting putting = { .s = s };
    struct word_counts *parts = word_counts_new(0, NULL);
    *s = (struct segments){ 0 };
    SCOPED_MEM unsigned char *chosen = choose_alphabet(s, words, coverage);
    for (size_t w = 0; w < words->count; w++)
        cut_word(parts, words->bytes.data + words->words[w].at, words->words[w].len,
                 words->words[w].count, chosen);
    int result = word_counts_each(&parts, 1, put_segment, &putting);
    word_counts_free(parts);
    return result;
}

void segments_release(struct segments *s)
{
    free(s->text);
    free(s->items);
    free(s->alphabet);
    *s = (struct segments){ 0 };
}
