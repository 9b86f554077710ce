#include "tokenizer/learn/learn.h"

#include "common/base/heap.h"
#include "common/base/order.h"
#include "common/base/utf8.h"
#include "tokenizer/model/alphabet.h"
#include "tokenizer/model/subword.h"
#include "unicode/unicode.h"

#define NONE UINT32_MAX

/* ---- pairs ---------------------------------------------------------------------------------- */

struct places {
    uint32_t *words; /* words in which the pair appeared */
    uint32_t count, cap;
};

struct pair {
    uint32_t left, right;
    int64_t count;
    struct places fresh; /* words where it appeared since it was last put into the queue */
};

/* A pair in the queue. `count` is its count when it was queued; it is updated when the pair
 * reaches the top. */
struct candidate {
    int64_t count;
    uint64_t order; /* (left << 32) | right: decides between equal counts */
    uint32_t pair;
    struct places places;
};

/* A heap of candidates, the first one on top, or while `loose` is set a list in any order. */
struct heap {
    struct candidate *items;
    size_t count, cap;
    int loose;
};

/* The queue: a heap for each small count, and one for all larger counts. Most pairs are rare and
 * are never merged. Their heaps stay loose, which saves sorting them. */
enum { RARE = 1024 };
struct queue {
    struct heap heaps[RARE + 1]; /* by count; heaps[0]: below 1; heaps[RARE]: RARE or more */
    size_t top;                  /* no heap above this one has a candidate */
};

struct symbols {
    uint32_t *ids; /* the tokens of a word; merges shorten the array in place */
    uint32_t count;
    uint64_t word_count;
};

/* Bits for the position of a byte or character in its word. If the vocabulary has a prefix, it is
 * put before those that are not the first (BEHIND); a suffix, after the last one (LAST). */
enum { BEHIND = 1, LAST = 2, SPELLINGS = 4 };

static int spelling(const struct vocabulary *v, int place)
{
    return (*v->prefix ? place & BEHIND : 0) | (*v->suffix ? place & LAST : 0);
}

/* The bytes or characters that form words ("units"), indexed by code point. A byte has the
 * code point of its character in the byte alphabet. */
struct alphabet {
    uint64_t *counts;         /* number of occurrences; INITIAL: always in the alphabet */
    uint32_t *ids[SPELLINGS]; /* ids by spelling; NONE: no id. NULL: spelling not in use */
    uint32_t limit;           /* all code points are below this */
};
#define INITIAL UINT64_MAX

/* The tokens that existed before learning, as an encoder of words. */
struct known {
    struct vocabulary v; /* its parts are borrowed, and become invalid with the first new token */
    struct subword *subword;
    struct subword_scratch scratch;
    struct ids ids;
    struct buf word;
};

struct learner {
    struct vocabulary *v;
    const struct learn_options *options;
    struct symbols *symbols; /* per word */
    uint32_t *symbol_pool;
    struct alphabet *alphabet;

    struct pair *pairs;
    size_t pair_count, pairs_cap;
    uint32_t *slots; /* hash table of indices in pairs */
    size_t slot_mask;
    uint32_t *touched; /* pairs with fresh places */
    size_t touched_count, touched_cap;

    struct queue queue;
};

static size_t pair_hash(uint32_t left, uint32_t right)
{
    uint64_t h = ((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u;
    return (size_t)(h ^ h >> 32);
}

static void grow_pair_slots(struct learner *l)
{
    size_t slots = l->slots ? 2 * (l->slot_mask + 1) : 1 << 14;
    l->slots = mem_resize(l->slots, slots, sizeof *l->slots);
    memset(l->slots, 0xFF, slots * sizeof *l->slots);
    l->slot_mask = slots - 1;
    for (size_t k = 0; k < l->pair_count; k++) {
        size_t i = pair_hash(l->pairs[k].left, l->pairs[k].right) & l->slot_mask;
        while (l->slots[i] != NONE)
            i = (i + 1) & l->slot_mask;
        l->slots[i] = (uint32_t)k;
    }
}

static uint32_t get_pair(struct learner *l, uint32_t left, uint32_t right)
{
    if (!l->slots || 2 * l->pair_count > l->slot_mask)
        grow_pair_slots(l);
    size_t i = pair_hash(left, right) & l->slot_mask;
    for (; l->slots[i] != NONE; i = (i + 1) & l->slot_mask)
        if (l->pairs[l->slots[i]].left == left && l->pairs[l->slots[i]].right == right)
            return l->slots[i];
    mem_grow(l->pairs, l->pairs_cap, l->pair_count + 1);
    l->slots[i] = (uint32_t)l->pair_count;
    l->pairs[l->pair_count] = (struct pair){ .left = left, .right = right };
    return (uint32_t)l->pair_count++;
}

/* Adds the count of word number `word` to that of the pair (left, right) (change 1), or subtracts
 * it (change -1). With 1, also notes that the pair appeared in this word. */
static void count_pair(struct learner *l, uint32_t left, uint32_t right, uint32_t word, int change)
{
    uint32_t k = get_pair(l, left, right);
    struct pair *p = &l->pairs[k];
    p->count += change * (int64_t)l->symbols[word].word_count;
    if (change < 0)
        return;
    if (!p->fresh.count)
        mem_next(l->touched, l->touched_count, l->touched_cap) = k;
    if (p->fresh.count && p->fresh.words[p->fresh.count - 1] == word)
        return;
    size_t cap = p->fresh.cap;
    mem_next(p->fresh.words, p->fresh.count, cap) = word;
    p->fresh.cap = (uint32_t)cap;
}

/* ---- the queue ------------------------------------------------------------------------------ */

static int comes_before(const struct candidate *a, const struct candidate *b)
{
    return a->count != b->count ? a->count > b->count : a->order < b->order;
}

HEAP(candidates, struct candidate, comes_before)

static void queue_push(struct queue *q, const struct candidate *c)
{
    size_t which = c->count < 1 ? 0 : c->count < RARE ? (size_t)c->count : RARE;
    struct heap *h = &q->heaps[which];
    mem_grow(h->items, h->cap, h->count + 1);
    h->loose |= !h->count++;
    if (h->loose)
        h->items[h->count - 1] = *c;
    else
        candidates_rise(h->items, h->count - 1, *c);
    if (which > q->top)
        q->top = which;
}

/* Moves the first candidate of the queue to *first. Returns 1, or 0 if the queue is empty. */
static int queue_pop(struct queue *q, struct candidate *first)
{
    while (q->top && !q->heaps[q->top].count)
        q->top--;
    struct heap *h = &q->heaps[q->top];
    if (!h->count)
        return 0;
    if (h->loose)
        candidates_make(h->items, h->count);
    h->loose = 0;
    *first = candidates_take(h->items, &h->count);
    return 1;
}

static void queue_release(struct queue *q)
{
    for (size_t i = 0; i <= RARE; i++) {
        for (size_t k = 0; k < q->heaps[i].count; k++)
            free(q->heaps[i].items[k].places.words);
        free(q->heaps[i].items);
    }
}

/* Puts the pairs with new places into the queue. */
static void queue_touched(struct learner *l)
{
    for (size_t i = 0; i < l->touched_count; i++) {
        struct pair *p = &l->pairs[l->touched[i]];
        const struct candidate c = { p->count, (uint64_t)p->left << 32 | p->right, l->touched[i],
                                     p->fresh };
        if (p->count > 0)
            queue_push(&l->queue, &c);
        else
            free(p->fresh.words);
        p->fresh = (struct places){ 0 };
    }
    l->touched_count = 0;
}

/* ---- the alphabet --------------------------------------------------------------------------- */

/* Returns the code point of the unit (byte or character) at p; for a byte, that of its character in
 * the byte alphabet. Sets *len to the unit's number of bytes. */
static uint32_t unit_at(const struct vocabulary *v, const char *p, size_t *len)
{
    if (!v->byte_level)
        return utf8_get((const unsigned char *)p, len);
    *len = 1;
    return alphabet_char((unsigned char)*p);
}

static int place_of(size_t at, size_t len, size_t word_len)
{
    return (at ? BEHIND : 0) | (at + len == word_len ? LAST : 0);
}

static void count_units(struct learner *l, const struct counted_words *words)
{
    struct alphabet *a = l->alphabet;
    size_t len;
    for (size_t w = 0; w < words->count; w++) {
        const struct counted_word *word = &words->words[w];
        for (size_t i = 0; i < word->len; i += len) {
            uint64_t *count = &a->counts[unit_at(l->v, words->bytes.data + word->at + i, &len)];
            if (*count != INITIAL)
                *count += word->count;
        }
    }
}

static void count_initial(struct learner *l)
{
    const char *text = l->options->initial ? l->options->initial : "";
    size_t n = strlen(text), len;
    for (size_t i = 0; i < n; i += len)
        l->alphabet->counts[unit_at(l->v, text + i, &len)] = INITIAL;
    for (int b = 0; b < 256 && l->v->byte_level && l->options->all_bytes; b++)
        l->alphabet->counts[alphabet_char((unsigned char)b)] = INITIAL;
}

/* Removes the least frequent bytes or characters, so that at most `limit` stay in the alphabet. */
static void limit_alphabet(struct alphabet *a, size_t limit)
{
    SCOPED_MEM struct order_rank *units = NULL;
    size_t count = 0, cap = 0;
    for (uint32_t c = 0; c < a->limit; c++)
        if (a->counts[c])
            mem_next(units, count, cap) = (struct order_rank){ (double)a->counts[c], c };
    mem_sort(units, count, order_ranks);
    for (size_t i = limit; i < count; i++)
        if (a->counts[units[i].item] != INITIAL)
            a->counts[units[i].item] = 0;
}

static void unit_name(const struct vocabulary *v, uint32_t unit, int spelled, struct buf *name)
{
    buf_clear(name);
    if (spelled & BEHIND)
        buf_adds(name, v->prefix);
    size_t at = name->len;
    utf8_add(name, unit);
    if (spelled & LAST)
        buf_adds(name, v->suffix);
    if (v->byte_level) {
        SCOPED(buf) byte = BUF_INIT;
        alphabet_decode(&byte, name->data + at, name->len - at);
        buf_truncate(name, at);
        buf_add(name, byte.data, byte.len);
    }
}

/* Returns the id of the model's token with the spelling name[0..n), which is added if there is
 * none, or -1 with an error if a special token is spelled like it. */
static int64_t token_of(struct vocabulary *v, const char *name, size_t n)
{
    const int64_t id = vocabulary_find(v, name, n);
    if (id >= 0 && v->tokens[id].kind == TOKEN_ADDED)
        return err_set("special token '%.*s' is also a learned token: choose another name", (int)n,
                       name);
    if (id >= 0)
        return id;
    return vocabulary_put(v, v->count, name, n, TOKEN_MODEL) < 0 ? -1 : (int64_t)v->count - 1;
}

/* Sets *id to the id of a byte or character in the spelling `spelled`, adding a token if it has
 * none. Returns 0, or -1 with an error. */
static int put_unit(struct vocabulary *v, uint32_t unit, int spelled, uint32_t *id)
{
    SCOPED(buf) name = BUF_INIT;
    unit_name(v, unit, spelled, &name);
    const int64_t made = token_of(v, name.data, name.len);
    *id = (uint32_t)made;
    return made < 0 ? -1 : 0;
}

/* Adds tokens for the alphabet's units with a prefix or suffix, where these occur in words. */
static int put_spellings(struct learner *l, const struct counted_words *words)
{
    struct alphabet *a = l->alphabet;
    SCOPED_MEM unsigned char *seen = mem_zalloc(a->limit, 1); /* one bit per spelling */
    int result = 0;
    size_t len;
    for (size_t w = 0; w < words->count; w++) {
        const struct counted_word *word = &words->words[w];
        const char *text = words->bytes.data + word->at;
        for (size_t i = 0; i < word->len; i += len) {
            uint32_t unit = unit_at(l->v, text + i, &len);
            seen[unit] |= (unsigned char)(1 << spelling(l->v, place_of(i, len, word->len)));
        }
    }
    for (int s = 1; s < SPELLINGS; s++)
        for (uint32_t c = 0; c < a->limit && !result; c++)
            if (seen[c] >> s & 1 && a->ids[0][c] != NONE)
                result = put_unit(l->v, c, s, &a->ids[s][c]);
    return result;
}

static int put_alphabet(struct learner *l, const struct counted_words *words)
{
    struct alphabet *a = l->alphabet;
    const struct learn_options *o = l->options;
    a->limit = l->v->byte_level ? ALPHABET_LIMIT : UNICODE_LIMIT;
    a->counts = mem_zalloc(a->limit, sizeof *a->counts);
    for (int s = 0; s < SPELLINGS; s++) {
        if (s != spelling(l->v, s))
            continue;
        a->ids[s] = mem_alloc(a->limit * sizeof **a->ids);
        memset(a->ids[s], 0xFF, a->limit * sizeof **a->ids);
    }
    count_initial(l);
    count_units(l, words);
    if (o->alphabet_limit)
        limit_alphabet(a, (size_t)o->alphabet_limit);
    for (uint32_t c = 0; c < a->limit; c++)
        if (a->counts[c] && put_unit(l->v, c, 0, &a->ids[0][c]) < 0)
            return -1;
    return spelling(l->v, BEHIND | LAST) ? put_spellings(l, words) : 0;
}

int learn_special(struct vocabulary *v, const char *const *special, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(special[i]);
        if (vocabulary_find(v, special[i], n) >= 0)
            return err_set("special token '%s' is given twice", special[i]);
        if (vocabulary_put_special(v, v->count, special[i], n, 1) < 0)
            return err_in("special token '%s'", special[i]);
    }
    return 0;
}

/* Gives ids to the special tokens and the alphabet. Returns 0, or -1 with an error. */
static int begin_vocabulary(struct learner *l, const struct counted_words *words)
{
    uint32_t before = l->v->count;
    if (learn_special(l->v, l->options->special, l->options->special_count) < 0 ||
        put_alphabet(l, words) < 0)
        return -1;
    if (l->v->count <= l->options->vocabulary_size)
        return 0;
    if (before)
        return err_set("a vocabulary of %" PRId64
                       " tokens is too small: it has %u tokens already, and its "
                       "alphabet needs %u more",
                       l->options->vocabulary_size, before, l->v->count - before);
    return err_set("a vocabulary of %" PRId64
                   " tokens is too small: special tokens and alphabet need %u",
                   l->options->vocabulary_size, l->v->count);
}

/* ---- learning ------------------------------------------------------------------------------- */

/* Appends to s->ids the ids of a word's bytes or characters, without those that are not in the
 * alphabet. */
static void put_units(struct learner *l, const char *word, size_t n, struct symbols *s)
{
    size_t len;
    for (size_t i = 0; i < n; i += len) {
        uint32_t unit = unit_at(l->v, word + i, &len);
        uint32_t id = l->alphabet->ids[spelling(l->v, place_of(i, len, n))][unit];
        if (id != NONE)
            s->ids[s->count++] = id;
    }
}

/* Sets s->ids to the ids of a word, cut into the tokens that existed before learning, which may
 * have several bytes or characters. Returns 0, or -1 with an error. */
static int put_known(struct learner *l, struct known *k, const char *word, size_t n,
                     struct symbols *s)
{
    size_t len;
    buf_clear(&k->word);
    k->ids.count = 0;
    for (size_t i = 0; i < n; i += len)
        if (l->alphabet->counts[unit_at(l->v, word + i, &len)])
            buf_add(&k->word, word + i, len);
    if (k->word.len &&
        subword_encode(k->subword, &k->scratch, k->word.data, k->word.len, &k->ids) < 0)
        return -1;
    if (k->ids.count)
        memcpy(s->ids, k->ids.data, k->ids.count * sizeof *s->ids);
    s->count = (uint32_t)k->ids.count;
    return 0;
}

/* Turns the words into tokens, and puts all their pairs into the queue. */
static int begin_words(struct learner *l, const struct counted_words *words, struct known *known)
{
    l->symbol_pool = mem_alloc(words->bytes.len * sizeof *l->symbol_pool);
    l->symbols = mem_alloc(words->count * sizeof *l->symbols);
    for (uint32_t w = 0; w < words->count; w++) {
        struct symbols *s = &l->symbols[w];
        const char *word = words->bytes.data + words->words[w].at;
        *s = (struct symbols){ l->symbol_pool + words->words[w].at, 0, words->words[w].count };
        if (!known)
            put_units(l, word, words->words[w].len, s);
        else if (put_known(l, known, word, words->words[w].len, s) < 0)
            return -1;
        for (uint32_t i = 0; i + 1 < s->count; i++)
            count_pair(l, s->ids[i], s->ids[i + 1], w, 1);
    }
    queue_touched(l);
    return 0;
}

/* Merges the pair in one word. The count of the pair itself is not changed: the pair is finished,
 * unless its tokens become neighbours again. In that case Hugging Face continues from the old
 * count. */
static void merge_in_word(struct learner *l, uint32_t w, uint32_t left, uint32_t right, uint32_t id)
{
    struct symbols *s = &l->symbols[w];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->ids[i] != left || i + 1 == s->count || s->ids[i + 1] != right) {
            s->ids[kept++] = s->ids[i];
            continue;
        }
        if (kept) {
            count_pair(l, s->ids[kept - 1], left, w, -1);
            count_pair(l, s->ids[kept - 1], id, w, 1);
        }
        i++;
        if (i + 1 < s->count) {
            count_pair(l, right, s->ids[i + 1], w, -1);
            count_pair(l, id, s->ids[i + 1], w, 1);
        }
        s->ids[kept++] = id;
    }
    s->count = kept;
}

/* Returns the id of the token to which the pair merges: a new id, unless a token with these bytes
 * exists; -1 with an error. */
static int64_t joined_id(struct learner *l, const struct pair *p)
{
    SCOPED(buf) bytes = BUF_INIT;
    size_t n = 0, prefix = strlen(l->v->prefix);
    const char *part = vocabulary_bytes(l->v, p->left, &n);
    buf_add(&bytes, part, n);
    part = vocabulary_bytes(l->v, p->right, &n);
    if (n >= prefix && !memcmp(part, l->v->prefix, prefix)) {
        part += prefix;
        n -= prefix;
    }
    buf_add(&bytes, part, n);
    return token_of(l->v, bytes.data, bytes.len);
}

/* Merges the pair in the words at `places`. The words come from far apart in memory, so they are
 * fetched in advance. */
static void merge_places(struct learner *l, const struct places *places, const struct pair *p,
                         uint32_t id)
{
    enum { AHEAD = 8 };
    for (uint32_t i = 0; i < places->count; i++) {
        if (i + 2 * AHEAD < places->count)
            __builtin_prefetch(&l->symbols[places->words[i + 2 * AHEAD]]);
        if (i + AHEAD < places->count)
            __builtin_prefetch(l->symbols[places->words[i + AHEAD]].ids);
        merge_in_word(l, places->words[i], p->left, p->right, id);
    }
}

static int merge_pairs(struct learner *l)
{
    struct candidate top;
    while (l->v->count < l->options->vocabulary_size && queue_pop(&l->queue, &top)) {
        struct pair p = l->pairs[top.pair];
        if (top.count != p.count) {
            top.count = p.count;
            queue_push(&l->queue, &top);
            continue;
        }
        int64_t id = -1;
        int enough = top.count >= 1 && top.count >= l->options->min_frequency;
        if (enough && (id = joined_id(l, &p)) >= 0) {
            if (l->v->model == VOCABULARY_BPE)
                vocabulary_merge(l->v, p.left, p.right, (uint32_t)id);
            merge_places(l, &top.places, &p, (uint32_t)id);
            queue_touched(l);
        }
        free(top.places.words);
        if (!enough || id < 0)
            return enough ? -1 : 0;
    }
    return 0;
}

/* Removes repeated merges: of a pair that was merged twice, the later merge stays. */
static void drop_repeated_merges(struct vocabulary *v, struct learner *l)
{
    size_t kept = v->merge_count;
    SCOPED_MEM unsigned char *seen = mem_zalloc(l->pair_count + v->merge_count + 1, 1);
    for (size_t i = v->merge_count; i-- > 0;) {
        uint32_t k = get_pair(l, v->merges[i].left, v->merges[i].right);
        if (!seen[k])
            v->merges[--kept] = v->merges[i];
        seen[k] = 1;
    }
    v->merge_count -= kept;
    if (kept)
        memmove(v->merges, v->merges + kept, v->merge_count * sizeof *v->merges);
}

static void learner_release(struct learner *l)
{
    queue_release(&l->queue);
    for (size_t i = 0; i < l->touched_count; i++)
        free(l->pairs[l->touched[i]].fresh.words);
    free(l->touched);
    free(l->pairs);
    free(l->slots);
    free(l->symbols);
    free(l->symbol_pool);
}

static void alphabet_release(struct alphabet *a)
{
    free(a->counts);
    for (int s = 0; s < SPELLINGS; s++)
        free(a->ids[s]);
}

/* Prepares the encoder for the tokens that exist already. */
static void known_begin(struct known *k, const struct vocabulary *v)
{
    k->v = *v;
    k->v.max_chars = UINT32_MAX; /* words of any length are encoded */
    k->v.byte_fallback = 0;
    if (v->model == VOCABULARY_BPE)
        /* unknown characters are left out, and the rest of a word is encoded: so a word never has
         * more tokens than bytes */
        k->v.roles[TOKENIZER_UNKNOWN] = -1;
    k->subword = subword_new(&k->v);
}

static void known_release(struct known *k)
{
    subword_free(k->subword);
    subword_scratch_release(&k->scratch);
    ids_release(&k->ids);
    buf_release(&k->word);
}

int learn(struct vocabulary *v, const struct counted_words *words, const struct learn_options *o)
{
    SCOPED(alphabet) alphabet = { 0 };
    SCOPED(known) known = { .word = BUF_INIT };
    SCOPED(learner) l = { .v = v, .options = o, .alphabet = &alphabet };
    uint32_t before = v->count;
    int result = begin_vocabulary(&l, words);
    if (!result && before)
        known_begin(&known, v);
    if (!result)
        result = begin_words(&l, words, before ? &known : NULL);
    if (!result)
        result = merge_pairs(&l);
    if (!result)
        drop_repeated_merges(v, &l);
    return result;
}
