#include "tokenizer/learn/seeds.h"

#include <math.h>

#include "unicode/unicode.h"

/* ---- sorting the suffixes ------------------------------------------------------------------- */

/* The suffixes of all segments. Only their first length_max characters are compared. */
struct suffixes {
    const uint32_t *text;
    uint32_t length_max;
    uint32_t *sorted; /* places in the text */
    size_t count;
    size_t *buckets; /* suffixes that begin with character i: sorted[buckets[i]..buckets[i+1]) */
    uint32_t *owner; /* the segment of each place */
    const struct segment *segments;
};

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t t = *a;
    *a = *b;
    *b = t;
}

static uint32_t middle_of(uint32_t a, uint32_t b, uint32_t c)
{
    if (a > b)
        swap(&a, &b);
    return c <= a ? a : c >= b ? b : c;
}

/* Sorts the suffixes at[0..n), given by their places in the text, whose first `depth` characters
 * are equal: Bentley and Sedgewick, "Fast algorithms for sorting and searching strings" (1997),
 * multikey quicksort. */
static void sort_from(const struct suffixes *s, uint32_t *at, size_t n, uint32_t depth)
{
    while (n > 1 && depth < s->length_max) {
        const uint32_t *text = s->text + depth;
        uint32_t pivot = middle_of(text[at[0]], text[at[n / 2]], text[at[n - 1]]);
        size_t less = 0, i = 0, more = n;
        while (i < more) {
            uint32_t c = text[at[i]];
            if (c < pivot)
                swap(&at[i++], &at[less++]);
            else if (c > pivot)
                swap(&at[i], &at[--more]);
            else
                i++;
        }
        sort_from(s, at, less, depth);
        sort_from(s, at + more, n - more, depth);
        if (!pivot) /* the ends of segments */
            return;
        at += less;
        n = more - less;
        depth++;
    }
}

static void sort_bucket(void *ctx, int64_t i, int)
{
    const struct suffixes *s = ctx;
    sort_from(s, s->sorted + s->buckets[i], s->buckets[i + 1] - s->buckets[i], 1);
}

/* Puts the suffixes into buckets by their first character. */
static void fill_buckets(struct suffixes *s, const struct segments *from)
{
    SCOPED_MEM uint32_t *rank = mem_zalloc(UNICODE_LIMIT, sizeof *rank);
    SCOPED_MEM size_t *next = mem_zalloc(from->alphabet_count + 1, sizeof *next);
    for (size_t i = 0; i < from->alphabet_count; i++)
        rank[from->alphabet[i]] = (uint32_t)i;
    s->buckets = mem_zalloc(from->alphabet_count + 1, sizeof *s->buckets);
    for (size_t i = 0; i < from->length; i++)
        if (s->text[i])
            s->buckets[rank[s->text[i]] + 1]++;
    for (size_t i = 0; i < from->alphabet_count; i++) {
        s->buckets[i + 1] += s->buckets[i];
        next[i] = s->buckets[i];
    }
    s->sorted = mem_alloc((s->buckets[from->alphabet_count] + 1) * sizeof *s->sorted);
    for (size_t i = 0; i < from->length; i++)
        if (s->text[i])
            s->sorted[next[rank[s->text[i]]]++] = (uint32_t)i;
}

static void sort_suffixes(struct suffixes *s, const struct segments *from, struct pool *pool)
{
    s->owner = mem_alloc((from->length + 1) * sizeof *s->owner);
    for (size_t i = 0; i < from->count; i++)
        for (uint32_t k = 0; k <= from->items[i].len; k++)
            s->owner[from->items[i].at + k] = (uint32_t)i;
    fill_buckets(s, from);
    s->count = s->buckets[from->alphabet_count];
    pool_each(pool, (int64_t)from->alphabet_count, sort_bucket, s);
}

static void suffixes_release(struct suffixes *s)
{
    free(s->sorted);
    free(s->buckets);
    free(s->owner);
}

/* ---- the nodes of the suffix tree ----------------------------------------------------------- */

/* A substring: the first `length` characters of the suffixes sorted[left..right). */
struct node {
    uint32_t length, left, right;
    uint64_t frequency;
};

static uint32_t common_length(const struct suffixes *s, uint32_t a, uint32_t b)
{
    uint32_t n = 0;
    while (n < s->length_max && s->text[a + n] && s->text[a + n] == s->text[b + n])
        n++;
    return n;
}

static uint32_t suffix_length(const struct suffixes *s, uint32_t at)
{
    const struct segment *segment = &s->segments[s->owner[at]];
    uint32_t n = segment->at + segment->len - at;
    return n < s->length_max ? n : s->length_max;
}

typedef void take_node(void *ctx, const struct node *n);

/* Calls `take` for each node, and for each character even if it is no node. `stack` has the nodes
 * that begin the current suffix, shortest first; stack[0] is the empty string. */
static void each_node(const struct suffixes *s, take_node *take, void *ctx)
{
    struct node stack[SEEDS_LENGTH_MAX + 2] = { { 0 } }, done;
    size_t top = 0;
    for (uint32_t i = 0; i <= s->count; i++) {
        uint32_t common = i && i < s->count ? common_length(s, s->sorted[i - 1], s->sorted[i]) : 0;
        while (stack[top].length > common) {
            done = stack[top--];
            done.right = i;
            take(ctx, &done);
            if (stack[top].length < common)
                stack[++top] = (struct node){ .length = common, .left = done.left };
            stack[top].frequency += done.frequency;
        }
        if (i == s->count)
            break;
        uint32_t n = suffix_length(s, s->sorted[i]);
        if (!common)
            stack[++top] = (struct node){ .length = 1, .left = i };
        if (n > stack[top].length)
            stack[++top] = (struct node){ .length = n, .left = i };
        stack[top].frequency += s->segments[s->owner[s->sorted[i]]].count;
    }
}

/* ---- choosing seeds ------------------------------------------------------------------------- */

struct choice {
    size_t most;             /* how many substrings of two or more characters to choose */
    struct node *best;       /* candidates for these, with the best so far */
    struct node *characters; /* the substrings of one character */
    size_t count, cap, character_count, characters_cap;
};

static uint64_t score_of(const struct node *n)
{
    return n->frequency * n->length;
}

static int first_in_order(const void *x, const void *y)
{
    const struct node *a = x, *b = y;
    if (a->left != b->left)
        return a->left < b->left ? -1 : 1;
    return a->length < b->length ? -1 : a->length > b->length;
}

static int better(const void *x, const void *y)
{
    const struct node *a = x, *b = y;
    return score_of(a) == score_of(b) ? first_in_order(x, y) : score_of(a) > score_of(b) ? -1 : 1;
}

static void drop_worst(struct choice *c)
{
    if (c->count <= c->most)
        return;
    qsort(c->best, c->count, sizeof *c->best, better);
    c->count = c->most;
}

static void choose(void *ctx, const struct node *n)
{
    struct choice *c = ctx;
    if (n->length == 1) {
        mem_next(c->characters, c->character_count, c->characters_cap) = *n;
        return;
    }
    if (n->frequency < 2)
        return;
    if (c->count == 2 * c->most + 1)
        drop_worst(c);
    mem_next(c->best, c->count, c->cap) = *n;
}

/* Adds the characters to the chosen substrings, c->best, and sorts all in alphabetical order. */
static void join(struct choice *c)
{
    drop_worst(c);
    mem_grow(c->best, c->cap, c->count + c->character_count);
    for (size_t i = 0; i < c->character_count; i++)
        c->best[c->count++] = c->characters[i];
    mem_sort(c->best, c->count, first_in_order);
}

/* Adds to *p the pieces of the chosen nodes, which are in order of `left` and length, and finds the
 * longest piece at each place. */
static void make_pieces(struct seeds *p, const struct suffixes *s, const struct choice *c)
{
    uint32_t stack[SEEDS_LENGTH_MAX + 1];
    size_t depth = 0, next = 0;
    double sum = 0;
    for (size_t i = 0; i < c->count; i++)
        sum += (double)score_of(&c->best[i]);
    for (uint32_t i = 0; i < s->count; i++) {
        while (depth && c->best[stack[depth - 1]].right <= i)
            depth--;
        for (; next < c->count && c->best[next].left == i; next++) {
            double share = (double)score_of(&c->best[next]) / sum;
            p->items[next] = (struct seed){ .probability = share,
                                            .score = log(share),
                                            .prefix = depth ? stack[depth - 1] : SEEDS_NONE,
                                            .length = c->best[next].length };
            p->at[next] = s->sorted[i];
            stack[depth++] = (uint32_t)next;
        }
        p->longest[s->sorted[i]] = stack[depth - 1];
    }
}

void seeds_find(struct seeds *p, const struct segments *s, uint32_t length_max, size_t most,
                struct pool *pool)
{
    SCOPED(suffixes) suffixes = { .text = s->text, .length_max = length_max, .segments = s->items };
    struct choice choice = { .most = most };
    sort_suffixes(&suffixes, s, pool);
    each_node(&suffixes, choose, &choice);
    join(&choice);
    *p = (struct seeds){ .count = choice.count, .places = s->length };
    p->items = mem_alloc((p->count + 1) * sizeof *p->items);
    p->at = mem_alloc((p->count + 1) * sizeof *p->at);
    p->longest = mem_alloc((s->length + 1) * sizeof *p->longest);
    memset(p->longest, 0xFF, (s->length + 1) * sizeof *p->longest);
    make_pieces(p, &suffixes, &choice);
    free(choice.best);
    free(choice.characters);
}

void seeds_release(struct seeds *p)
{
    free(p->items);
    free(p->at);
    free(p->longest);
    *p = (struct seeds){ 0 };
}

void seeds_keep(struct seeds *p, const unsigned char *keep)
{
    SCOPED_MEM uint32_t *new_index = mem_alloc((p->count + 1) * sizeof *new_index);
    uint32_t kept = 0;
    for (size_t i = 0; i < p->count; i++) {
        struct seed piece = p->items[i];
        if (piece.prefix != SEEDS_NONE)
            piece.prefix = new_index[piece.prefix];
        new_index[i] = keep[i] ? kept : piece.prefix;
        if (!keep[i])
            continue;
        p->items[kept] = piece;
        p->at[kept++] = p->at[i];
    }
    for (size_t i = 0; i < p->places; i++)
        if (p->longest[i] != SEEDS_NONE)
            p->longest[i] = new_index[p->longest[i]];
    p->count = kept;
}
