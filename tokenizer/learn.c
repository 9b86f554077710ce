#include "tokenizer/learn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"
#include "tokenizer/files.h"
#include "tokenizer/unicode.h"

#define NONE UINT32_MAX

/* ---- counting words ------------------------------------------------------------------------- */

struct word {
    size_t at; /* bytes.data[at..at+len) */
    uint32_t len;
    uint32_t hash;
    uint64_t count;
};

struct word_counts {
    struct splitter splitter;
    struct split *split;
    struct buf repaired, bytes;
    struct word *words;
    size_t count, cap;
    uint32_t *slots; /* hash table of places in words; NONE: free */
    size_t slot_mask;
};

struct word_counts *word_counts_new(void)
{
    enum { FIRST_SLOTS = 1 << 12 };
    struct word_counts *w = mem_zalloc(1, sizeof *w);
    buf_init(&w->repaired);
    buf_init(&w->bytes);
    splitter_add(&w->splitter, SPLIT_GPT2, NULL, 0);
    w->split = split_new(&w->splitter);
    w->slots = mem_alloc(FIRST_SLOTS * sizeof *w->slots);
    memset(w->slots, 0xFF, FIRST_SLOTS * sizeof *w->slots);
    w->slot_mask = FIRST_SLOTS - 1;
    return w;
}

void word_counts_free(struct word_counts *w)
{
    if (!w)
        return;
    split_free(w->split);
    splitter_release(&w->splitter);
    buf_release(&w->repaired);
    buf_release(&w->bytes);
    free(w->words);
    free(w->slots);
    free(w);
}

uint64_t word_counts_words(const struct word_counts *w)
{
    return w->count;
}

static void grow_slots(struct word_counts *w)
{
    size_t slots = 2 * (w->slot_mask + 1);
    w->slots = mem_resize(w->slots, slots, sizeof *w->slots);
    memset(w->slots, 0xFF, slots * sizeof *w->slots);
    w->slot_mask = slots - 1;
    for (size_t k = 0; k < w->count; k++) {
        size_t i = w->words[k].hash & w->slot_mask;
        while (w->slots[i] != NONE)
            i = (i + 1) & w->slot_mask;
        w->slots[i] = (uint32_t)k;
    }
}

static uint32_t hash_word(const char *word, size_t n)
{
    uint64_t h = n, part = 0;
    for (; n >= 8; word += 8, n -= 8) {
        memcpy(&part, word, 8);
        h = (h ^ part) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    part = 0;
    memcpy(&part, word, n);
    h = (h ^ part) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32);
}

static void add_word(struct word_counts *w, const char *word, size_t n, uint64_t count)
{
    uint32_t hash = hash_word(word, n);
    size_t i = hash & w->slot_mask;
    for (; w->slots[i] != NONE; i = (i + 1) & w->slot_mask) {
        struct word *have = &w->words[w->slots[i]];
        if (have->hash == hash && have->len == n && !memcmp(w->bytes.data + have->at, word, n)) {
            have->count += count;
            return;
        }
    }
    assert(w->count < NONE && n < NONE);
    mem_grow(w->words, w->cap, w->count + 1);
    w->slots[i] = (uint32_t)w->count;
    w->words[w->count++] = (struct word){ w->bytes.len, (uint32_t)n, hash, count };
    buf_add(&w->bytes, word, n);
    if (2 * w->count > w->slot_mask)
        grow_slots(w);
}

void word_counts_add(struct word_counts *w, const char *text, size_t n)
{
    size_t ends[256], begin = 0;
    if (utf8_valid(text, n) != n) {
        buf_clear(&w->repaired);
        utf8_repair(&w->repaired, text, n);
        text = w->repaired.data;
        n = w->repaired.len;
    }
    split_begin(w->split, text, n);
    for (int count; (count = split_next(w->split, ends, 256)) > 0;)
        for (int i = 0; i < count; begin = ends[i++])
            add_word(w, text + begin, ends[i] - begin, 1);
}

void word_counts_merge(struct word_counts *into, const struct word_counts *from)
{
    for (size_t i = 0; i < from->count; i++)
        add_word(into, from->bytes.data + from->words[i].at, from->words[i].len,
                 from->words[i].count);
}

/* ---- pairs ---------------------------------------------------------------------------------- */

struct places {
    uint32_t *words; /* words in which the pair came to stand */
    uint32_t count, cap;
};

struct pair {
    uint32_t left, right;
    int64_t count;
    struct places fresh; /* since it was last put into the queue */
};

/* Waits for its turn with the count it had when it came; the count is brought up to date when
 * its turn comes. */
struct candidate {
    int64_t count;
    uint32_t pair;
    struct places places;
};

struct symbols {
    uint32_t *ids; /* a word's tokens, shrinking in place */
    uint32_t count;
};

struct learner {
    struct vocabulary *v;
    const struct learn_options *options;
    struct symbols *symbols; /* per word */
    uint32_t *symbol_pool;
    const struct word *words;
    size_t word_count;

    struct pair *pairs;
    size_t pair_count, pairs_cap;
    uint32_t *slots; /* hash table of places in pairs */
    size_t slot_mask;
    uint32_t *touched; /* pairs with fresh places */
    size_t touched_count, touched_cap;

    struct candidate *queue; /* a heap, first candidate on top */
    size_t queue_count, queue_cap;
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

/* The pair comes to stand in the word once more (change > 0), or once less. */
static void count_pair(struct learner *l, uint32_t left, uint32_t right, uint32_t word, int change)
{
    uint32_t k = get_pair(l, left, right);
    struct pair *p = &l->pairs[k];
    p->count += change * (int64_t)l->words[word].count;
    if (change < 0)
        return;
    if (!p->fresh.count) {
        mem_grow(l->touched, l->touched_cap, l->touched_count + 1);
        l->touched[l->touched_count++] = k;
    }
    if (p->fresh.count && p->fresh.words[p->fresh.count - 1] == word)
        return;
    mem_grow(p->fresh.words, p->fresh.cap, p->fresh.count + 1);
    p->fresh.words[p->fresh.count++] = word;
}

/* ---- the queue ------------------------------------------------------------------------------ */

static int comes_before(const struct learner *l, const struct candidate *a,
                        const struct candidate *b)
{
    if (a->count != b->count)
        return a->count > b->count;
    const struct pair *p = &l->pairs[a->pair], *q = &l->pairs[b->pair];
    return p->left != q->left ? p->left < q->left : p->right < q->right;
}

static void queue_push(struct learner *l, struct candidate c)
{
    mem_grow(l->queue, l->queue_cap, l->queue_count + 1);
    size_t i = l->queue_count++;
    for (; i && comes_before(l, &c, &l->queue[(i - 1) / 2]); i = (i - 1) / 2)
        l->queue[i] = l->queue[(i - 1) / 2];
    l->queue[i] = c;
}

static struct candidate queue_pop(struct learner *l)
{
    struct candidate first = l->queue[0], last = l->queue[--l->queue_count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < l->queue_count; i = child) {
        if (child + 1 < l->queue_count &&
            comes_before(l, &l->queue[child + 1], &l->queue[child]))
            child++;
        if (!comes_before(l, &l->queue[child], &last))
            break;
        l->queue[i] = l->queue[child];
    }
    if (l->queue_count)
        l->queue[i] = last;
    return first;
}

/* Puts the pairs that came to stand somewhere into the queue. */
static void queue_touched(struct learner *l)
{
    for (size_t i = 0; i < l->touched_count; i++) {
        struct pair *p = &l->pairs[l->touched[i]];
        if (p->count > 0)
            queue_push(l, (struct candidate){ p->count, l->touched[i], p->fresh });
        else
            free(p->fresh.words);
        p->fresh = (struct places){ 0 };
    }
    l->touched_count = 0;
}

/* ---- learning ------------------------------------------------------------------------------- */

/* Ids for the special tokens and the alphabet. */
static int begin_vocabulary(struct learner *l, const struct word_counts *words)
{
    const struct learn_options *o = l->options;
    unsigned char by_char[ALPHABET_LIMIT] = { 0 }; /* the byte that a character stands for */
    int used[256] = { 0 };
    for (size_t i = 0; i < o->special_count; i++) {
        struct added_token a = { .id = (uint32_t)i, .special = 1 };
        if (vocabulary_find(l->v, o->special[i], strlen(o->special[i])) >= 0)
            return err_set("special token '%s' is given twice", o->special[i]);
        if (vocabulary_put(l->v, (int64_t)i, o->special[i], strlen(o->special[i]), TOKEN_ADDED) < 0)
            return err_in("special token '%s'", o->special[i]);
        vocabulary_add(l->v, &a);
    }
    for (int b = 0; b < 256; b++)
        used[b] = !o->seen_bytes_only;
    for (size_t i = 0; i < words->bytes.len; i++)
        used[(unsigned char)words->bytes.data[i]] = 1;
    for (int b = 0; b < 256; b++)
        by_char[alphabet_char((unsigned char)b)] = (unsigned char)b;
    for (unsigned c = 0; c < ALPHABET_LIMIT; c++) {
        char byte = (char)by_char[c];
        if (alphabet_char((unsigned char)byte) == c && used[(unsigned char)byte] &&
            vocabulary_put(l->v, l->v->count, &byte, 1, TOKEN_MODEL) < 0)
            return -1;
    }
    if (l->v->count > o->vocabulary_size)
        return err_set("a vocabulary of %u is too small: special tokens and alphabet are %u",
                       o->vocabulary_size, l->v->count);
    return 0;
}

/* Words as tokens of one byte, and all their pairs in the queue. */
static void begin_words(struct learner *l, const struct word_counts *words)
{
    int64_t byte_ids[256];
    vocabulary_byte_ids(l->v, byte_ids);
    l->words = words->words;
    l->word_count = words->count;
    l->symbol_pool = mem_alloc(words->bytes.len * sizeof *l->symbol_pool);
    l->symbols = mem_alloc(words->count * sizeof *l->symbols);
    for (size_t i = 0; i < words->bytes.len; i++)
        l->symbol_pool[i] = (uint32_t)byte_ids[(unsigned char)words->bytes.data[i]];
    for (uint32_t w = 0; w < words->count; w++) {
        struct symbols *s = &l->symbols[w];
        *s = (struct symbols){ l->symbol_pool + words->words[w].at, words->words[w].len };
        for (uint32_t i = 0; i + 1 < s->count; i++)
            count_pair(l, s->ids[i], s->ids[i + 1], w, 1);
    }
    queue_touched(l);
}

/* Replaces the pair in one word. The pair's own count stays as it is: it is done with, unless
 * its tokens meet again, and then Hugging Face counts on from there. */
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

/* The token that the pair makes: a new one, unless its bytes are a token already. */
static int64_t joined_id(struct learner *l, const struct pair *p)
{
    struct buf bytes = BUF_INIT;
    size_t n = 0;
    const char *part = vocabulary_bytes(l->v, p->left, &n);
    buf_add(&bytes, part, n);
    part = vocabulary_bytes(l->v, p->right, &n);
    buf_add(&bytes, part, n);
    int64_t id = vocabulary_find(l->v, bytes.data, bytes.len);
    if (id >= 0 && l->v->tokens[id].kind == TOKEN_ADDED)
        id = err_set("special token '%s' is learned as well: choose another", bytes.data);
    else if (id < 0 && vocabulary_put(l->v, id = l->v->count, bytes.data, bytes.len,
                                      TOKEN_MODEL) < 0)
        id = -1;
    buf_release(&bytes);
    return id;
}

static int merge_pairs(struct learner *l)
{
    while (l->v->count < l->options->vocabulary_size && l->queue_count) {
        struct candidate top = queue_pop(l);
        struct pair p = l->pairs[top.pair];
        if (top.count != p.count) {
            top.count = p.count;
            queue_push(l, top);
            continue;
        }
        int64_t id = -1;
        int enough = top.count >= 1 && (uint64_t)top.count >= l->options->min_frequency;
        if (enough && (id = joined_id(l, &p)) >= 0) {
            vocabulary_merge(l->v, p.left, p.right, (uint32_t)id);
            for (uint32_t i = 0; i < top.places.count; i++)
                merge_in_word(l, top.places.words[i], p.left, p.right, (uint32_t)id);
            queue_touched(l);
        }
        free(top.places.words);
        if (!enough || id < 0)
            return enough ? -1 : 0;
    }
    return 0;
}

/* A pair that was merged twice keeps its later place in the list. */
static void drop_repeated_merges(struct vocabulary *v, struct learner *l)
{
    size_t kept = v->merge_count;
    unsigned char *seen = mem_zalloc(l->pair_count + 1, 1);
    for (size_t i = v->merge_count; i-- > 0;) {
        uint32_t k = get_pair(l, v->merges[i].left, v->merges[i].right);
        if (!seen[k])
            v->merges[--kept] = v->merges[i];
        seen[k] = 1;
    }
    v->merge_count -= kept;
    if (kept)
        memmove(v->merges, v->merges + kept, v->merge_count * sizeof *v->merges);
    free(seen);
}

static void learner_release(struct learner *l)
{
    for (size_t i = 0; i < l->queue_count; i++)
        free(l->queue[i].places.words);
    for (size_t i = 0; i < l->touched_count; i++)
        free(l->pairs[l->touched[i]].fresh.words);
    free(l->queue);
    free(l->touched);
    free(l->pairs);
    free(l->slots);
    free(l->symbols);
    free(l->symbol_pool);
}

int learn(struct vocabulary *v, const struct word_counts *words, const struct learn_options *o)
{
    struct learner l = { .v = v, .options = o };
    vocabulary_init(v);
    int result = splitter_add(&v->splitter, SPLIT_GPT2, NULL, 0);
    if (!result)
        result = begin_vocabulary(&l, words);
    if (!result) {
        begin_words(&l, words);
        result = merge_pairs(&l);
    }
    if (!result) {
        drop_repeated_merges(v, &l);
        v->end_of_text = vocabulary_find(v, end_of_text_name, strlen(end_of_text_name));
    }
    learner_release(&l);
    if (result < 0)
        vocabulary_release(v);
    return result;
}
