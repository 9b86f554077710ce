#include "tfrecord/layouts/instances.h"

#include <math.h>

#include "common/base/pyrandom.h"

/* ---- documents ---------------------------------------------------------------------------- */

void sentences_add(struct sentences *s, const uint32_t *ids, size_t n, const uint32_t *ends,
                   size_t count)
{
    size_t first = s->count, begin = 0;
    mem_grow(s->ids, s->ids_cap, s->tokens + n);
    mem_grow(s->starts, s->starts_cap, s->count + count + 2);
    mem_grow(s->documents, s->documents_cap, s->document_count + 2);
    for (size_t i = 0; i < count; i++) {
        size_t end = ends[i] < n ? ends[i] : n;
        if (end == begin)
            continue;
        memcpy(s->ids + s->tokens, ids + begin, (end - begin) * sizeof *ids);
        s->starts[s->count++] = s->tokens;
        s->tokens += end - begin;
        begin = end;
    }
    s->starts[s->count] = s->tokens;
    if (s->count > first)
        s->documents[s->document_count++] = (uint32_t)first;
    s->documents[s->document_count] = (uint32_t)s->count;
}

void sentences_clear(struct sentences *s)
{
    s->tokens = s->count = s->document_count = 0;
}

void sentences_release(struct sentences *s)
{
    free(s->ids);
    free(s->starts);
    free(s->documents);
    *s = (struct sentences){ 0 };
}

/* ---- a run -------------------------------------------------------------------------------- */

/* A range [begin, end) of tokens or candidates. */
struct span {
    uint64_t begin, end;
};

struct maker {
    const struct instances_recipe *recipe;
    const struct sentences *s;
    struct instances *out;
    struct pyrandom random;
    uint32_t *documents; /* in their new order */
    struct span *words;  /* candidates to be masked */
    uint32_t *becomes;   /* [sequence_length] what a masked position turns into */
    unsigned char *chosen;
};

static uint64_t size(struct span s)
{
    return s.end - s.begin;
}

/* Returns the range of the tokens of sentences [first, end). */
static struct span tokens_of(const struct sentences *s, uint32_t first, uint32_t end)
{
    return (struct span){ s->starts[first], s->starts[end] };
}

/* ---- masking ------------------------------------------------------------------------------ */

/* Sets m->words to the candidates for masking: every token except [CLS] and [SEP], or every whole
 * word of such tokens. Returns their number. */
static size_t find_words(struct maker *m, const uint32_t *tokens, const struct instance *x)
{
    const unsigned char *continues = m->recipe->continues;
    size_t n = 0;
    for (uint32_t i = 1; i + 1 < x->length; i++) {
        if (i + 1 == x->second)
            continue;
        if (continues && continues[tokens[i]] && n && m->words[n - 1].end == i)
            m->words[n - 1].end++;
        else
            m->words[n++] = (struct span){ i, i + 1 };
    }
    return n;
}

/* Returns the number of tokens to predict. Rounds as Python does, half to even. */
static uint32_t how_many(const struct instances_recipe *r, uint32_t length)
{
    double share = rint(length * r->mlm);
    uint32_t n = share < 1 ? 1 : share < r->mask_tokens ? (uint32_t)share : r->mask_tokens;
    uint32_t least = length + r->mask_tokens;
    least = least > r->sequence_length ? least - r->sequence_length : 0;
    return n > least ? n : least;
}

static uint32_t replacement(struct maker *m, uint32_t token)
{
    if (pyrandom_real(&m->random) < 0.8)
        return m->recipe->mask;
    if (pyrandom_real(&m->random) < 0.5)
        return token;
    return (uint32_t)pyrandom_below(&m->random, m->recipe->vocabulary);
}

/* Chooses the masked positions of x (m->chosen) and their new ids (m->becomes). Returns the number
 * of masked tokens. */
static uint32_t choose(struct maker *m, const uint32_t *tokens, const struct instance *x)
{
    size_t words = find_words(m, tokens, x);
    uint32_t want = how_many(m->recipe, x->length), got = 0;
    pyrandom_shuffle(&m->random, m->words, words, sizeof *m->words, pyrandom_below);
    memset(m->chosen, 0, x->length);
    for (size_t i = 0; i < words && got < want; i++) {
        struct span w = m->words[i];
        if (got + size(w) > want)
            continue;
        for (uint64_t at = w.begin; at < w.end; at++, got++) {
            m->chosen[at] = 1;
            m->becomes[at] = replacement(m, tokens[at]);
        }
    }
    return got;
}

/* Masks the instance x, whose tokens are already at the end of m->out->store. */
static void mask(struct maker *m, struct instance *x)
{
    uint32_t *tokens = m->out->store + x->at;
    x->masked = choose(m, tokens, x);
    uint32_t *position = tokens + x->length, *label = position + x->masked;
    for (uint32_t i = 0; i < x->length; i++) {
        if (!m->chosen[i])
            continue;
        *position++ = i;
        *label++ = tokens[i];
        tokens[i] = m->becomes[i];
    }
    m->out->stored += x->length + 2 * (size_t)x->masked;
}

/* ---- pairs -------------------------------------------------------------------------------- */

/* Shortens the longer of the two parts, or b if they are equal, at a random end, until both fit
 * into a sequence. */
static void truncate_pair(struct maker *m, struct span *a, struct span *b)
{
    uint64_t most = m->recipe->sequence_length - 3;
    while (size(*a) + size(*b) > most) {
        struct span *longer = size(*a) > size(*b) ? a : b;
        if (pyrandom_real(&m->random) < 0.5)
            longer->begin++;
        else
            longer->end--;
    }
}

static void put_pair(struct maker *m, struct span a, struct span b, int random)
{
    struct instances *out = m->out;
    truncate_pair(m, &a, &b);
    size_t length = (size_t)(size(a) + size(b) + 3);
    mem_grow(out->store, out->store_cap, out->stored + length + 2 * (size_t)m->recipe->mask_tokens);
    struct instance *x = &mem_next(out->list, out->count, out->list_cap);
    *x = (struct instance){ .at = out->stored,
                            .length = (uint32_t)length,
                            .second = (uint32_t)size(a) + 2,
                            .random = (uint32_t)random };
    uint32_t *p = out->store + x->at;
    *p++ = m->recipe->cls;
    memcpy(p, m->s->ids + a.begin, size(a) * sizeof *p);
    p += size(a);
    *p++ = m->recipe->sep;
    memcpy(p, m->s->ids + b.begin, size(b) * sizeof *p);
    p[size(b)] = m->recipe->sep;
    mask(m, x);
}

/* Returns the tokens of sentences of a random document other than `document` (an index into
 * m->documents), or of that one after ten tries. They begin at a random sentence and are the fewest
 * sentences with `want` tokens, or all to the end of the document. */
static struct span random_sentences(struct maker *m, size_t document, int64_t want)
{
    enum { TRIES = 10 };
    const struct sentences *s = m->s;
    uint64_t other = document;
    for (int i = 0; i < TRIES && other == document; i++)
        other = pyrandom_below(&m->random, s->document_count);
    uint32_t d = m->documents[other], first = s->documents[d], end = s->documents[d + 1];
    first += (uint32_t)pyrandom_below(&m->random, end - first);
    uint32_t last = first + 1;
    while (last < end && (int64_t)size(tokens_of(s, first, last)) < want)
        last++;
    return tokens_of(s, first, last);
}

/* Makes a pair of about `target` tokens from sentences [first, end); its second part may come from
 * another document. Returns the first sentence that is still unused. */
static uint32_t make_pair(struct maker *m, size_t document, uint32_t first, uint32_t end,
                          uint32_t target)
{
    uint32_t n = end - first, split = first + 1;
    if (n >= 2)
        split += (uint32_t)pyrandom_below(&m->random, n - 1);
    struct span a = tokens_of(m->s, first, split);
    if (n > 1 && pyrandom_real(&m->random) >= 0.5) {
        put_pair(m, a, tokens_of(m->s, split, end), 0);
        return end;
    }
    int64_t want = (int64_t)target - (int64_t)size(a);
    put_pair(m, a, random_sentences(m, document, want), 1);
    return split;
}

static void make_document(struct maker *m, size_t document)
{
    const struct sentences *s = m->s;
    uint32_t most = m->recipe->sequence_length - 3, target = most, d = m->documents[document];
    if (pyrandom_real(&m->random) < m->recipe->short_sequence)
        target = 2 + (uint32_t)pyrandom_below(&m->random, most - 1);
    for (uint32_t first = s->documents[d], last = s->documents[d + 1]; first < last;) {
        uint32_t end = first + 1;
        while (end < last && size(tokens_of(s, first, end)) < target)
            end++;
        first = make_pair(m, document, first, end, target);
    }
}

/* ---- all of it ---------------------------------------------------------------------------- */

void instances_make(struct instances *out, const struct instances_recipe *recipe,
                    const struct sentences *s)
{
    size_t length = recipe->sequence_length;
    assert(length >= 5 && recipe->mask_tokens >= 1 && recipe->mask_tokens <= length - 3);
    struct maker m = { .recipe = recipe, .s = s, .out = out };
    out->stored = out->count = 0;
    pyrandom_seed(&m.random, recipe->seed);
    m.documents = mem_zalloc(s->document_count, sizeof *m.documents);
    for (uint32_t d = 0; d < s->document_count; d++)
        m.documents[d] = d;
    pyrandom_shuffle(&m.random, m.documents, s->document_count, sizeof *m.documents,
                     pyrandom_below);
    m.words = mem_zalloc(length, sizeof *m.words);
    m.becomes = mem_zalloc(length, sizeof *m.becomes);
    m.chosen = mem_zalloc(length, 1);
    for (uint32_t pass = 0; pass < recipe->passes; pass++)
        for (size_t d = 0; d < s->document_count; d++)
            make_document(&m, d);
    pyrandom_shuffle(&m.random, out->list, out->count, sizeof *out->list, pyrandom_below);
    free(m.documents);
    free(m.words);
    free(m.becomes);
    free(m.chosen);
}

void instances_release(struct instances *i)
{
    free(i->store);
    free(i->list);
    *i = (struct instances){ 0 };
}
