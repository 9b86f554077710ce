#include "tokenizer/model/unigram.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/utf8.h"
#include "tokenizer/model/vocabulary.h"

#define NONE UINT32_MAX

enum { SCRATCH_KEPT = 1 << 20 };
static const double unknown_penalty = 10;

/* An edge of the trie of tokens. A hash table stores the edges by node and byte. */
struct edge {
    uint64_t from; /* (node << 8) | byte; UINT64_MAX: free */
    uint32_t to;
};

struct unigram {
    const struct vocabulary *v;
    struct edge *edges;
    uint64_t mask;
    uint32_t *ids; /* id of the token that ends at each node; NONE: none */
    uint32_t node_count;
    double unknown_score;
    int64_t fallback[256]; /* ids of <0x00> ... <0xFF>, -1 for none */
};

/* The best segmentation that ends at a place: its score, and the id and the begin of its last
 * token. */
struct unigram_best {
    double score;
    uint32_t id, begin; /* begin NONE: no segmentation yet */
};

/* ---- the trie -------------------------------------------------------------------------------- */

static struct edge *find_edge(const struct unigram *u, uint32_t node, unsigned char byte)
{
    uint64_t from = (uint64_t)node << 8 | byte, i = from * 0x9E3779B97F4A7C15u >> 20;
    while (u->edges[i & u->mask].from != from && u->edges[i & u->mask].from != UINT64_MAX)
        i++;
    return &u->edges[i & u->mask];
}

static void put_token(struct unigram *u, uint32_t id, const unsigned char *bytes, size_t n)
{
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++) {
        struct edge *e = find_edge(u, node, bytes[i]);
        if (e->from == UINT64_MAX) {
            *e = (struct edge){ (uint64_t)node << 8 | bytes[i], u->node_count };
            u->ids[u->node_count++] = NONE;
        }
        node = e->to;
    }
    u->ids[node] = id;
}

/* Returns 1 if the token is hidden, which means that the model never finds it in a text
 * (vocabulary.h, `hides`). Else returns 0. */
static int is_hidden(const struct unigram *u, uint32_t id)
{
    const struct vocabulary *v = u->v;
    int is = 0;
    if (!v->hides)
        return 0;
    for (size_t i = 0; i < v->added_count && v->tokens[id].is_added; i++)
        is |= v->added[i].id == id && v->added[i].special;
    for (int b = 0; b < 256 && !is; b++)
        is = u->fallback[b] == id;
    return is;
}

static void make_trie(struct unigram *u)
{
    const struct vocabulary *v = u->v;
    size_t nodes = 1, slots = 2;
    for (uint32_t id = 0; id < v->count; id++)
        nodes += v->tokens[id].len;
    while (slots < 2 * nodes)
        slots *= 2;
    u->edges = memset(mem_alloc(slots * sizeof *u->edges), 0xFF, slots * sizeof *u->edges);
    u->mask = slots - 1;
    u->ids = mem_alloc(nodes * sizeof *u->ids);
    u->ids[u->node_count++] = NONE;
    for (uint32_t id = 0; id < v->count; id++) {
        size_t n;
        const char *bytes = vocabulary_bytes(v, id, &n);
        if (v->tokens[id].in_model && n && utf8_valid(bytes, n) == n && !is_hidden(u, id))
            put_token(u, id, (const unsigned char *)bytes, n);
    }
}

struct unigram *unigram_new(const struct vocabulary *v)
{
    struct unigram *u = mem_zalloc(1, sizeof *u);
    char name[8];
    u->v = v;
    u->unknown_score = INFINITY;
    for (uint32_t id = 0; id < v->count; id++)
        if (v->tokens[id].in_model && v->scores[id] < u->unknown_score)
            u->unknown_score = v->scores[id];
    u->unknown_score -= unknown_penalty;
    if (v->hides)
        u->unknown_score = (float)u->unknown_score;
    for (unsigned b = 0; b < 256; b++) {
        int n = snprintf(name, sizeof name, "<0x%02X>", b);
        u->fallback[b] = v->byte_fallback ? vocabulary_find(v, name, (size_t)n) : -1;
    }
    make_trie(u);
    return u;
}

void unigram_free(struct unigram *u)
{
    if (!u)
        return;
    free(u->edges);
    free(u->ids);
    free(u);
}

void unigram_scratch_release(struct unigram_scratch *s)
{
    free(s->best);
    *s = (struct unigram_scratch){ 0 };
}

/* ---- a piece --------------------------------------------------------------------------------- */

static void offer(const struct unigram *u, struct unigram_best *best, double score, uint32_t id,
                  size_t begin)
{
    if (u->v->hides)
        score = (float)score; /* SentencePiece adds floats, which decides between near equals */
    if (best->begin == NONE || score > best->score)
        *best = (struct unigram_best){ score, id, (uint32_t)begin };
}

/* Extends the best segmentation that ends at `at` by each token that begins there. `len` is the
 * length of the first character. */
static void extend(const struct unigram *u, struct unigram_best *best, const unsigned char *piece,
                   size_t n, size_t at, size_t len)
{
    uint32_t node = 0;
    int alone = 0; /* the character is a token */
    for (size_t i = at; i < n; i++) {
        const struct edge *e = find_edge(u, node, piece[i]);
        if (e->from == UINT64_MAX)
            break;
        node = e->to;
        if (u->ids[node] == NONE)
            continue;
        offer(u, &best[i + 1], best[at].score + u->v->scores[u->ids[node]], u->ids[node], at);
        alone |= i + 1 - at == len;
    }
    if (!alone)
        offer(u, &best[at + len], best[at].score + u->unknown_score,
              (uint32_t)u->v->roles[TOKENIZER_UNKNOWN], at);
}

/* Appends the ids of a run of unknown characters. The run as a whole may be a token. Returns 0, or
 * -1 with an error. */
static int put_unknown(const struct unigram *u, const char *text, size_t n, struct ids *out)
{
    int64_t id = vocabulary_find(u->v, text, n);
    size_t known = 0;
    if (id >= 0 && u->v->tokens[id].in_model) {
        ids_add(out, (uint32_t)id);
        return 0;
    }
    while (known < n && u->fallback[(unsigned char)text[known]] >= 0)
        known++;
    if (known == n) {
        for (size_t i = 0; i < n; i++)
            ids_add(out, (uint32_t)u->fallback[(unsigned char)text[i]]);
        return 0;
    }
    if (u->v->roles[TOKENIZER_UNKNOWN] < 0)
        return err_set("the vocabulary has no token for '%.*s', and none for what is unknown",
                       n < 16 ? (int)n : 16, text);
    ids_add(out, (uint32_t)u->v->roles[TOKENIZER_UNKNOWN]);
    return 0;
}

/* Reverses the links of the best segmentation. Afterwards best[at] has the token that begins at
 * `at`, and its `begin` is where that token ends. */
static void turn(struct unigram_best *best, size_t n)
{
    uint32_t end = (uint32_t)n;
    struct unigram_best back = best[end];
    while (end) {
        uint32_t begin = back.begin;
        struct unigram_best before = best[begin];
        best[begin].id = back.id;
        best[begin].begin = end;
        back = before;
        end = begin;
    }
}

int unigram_encode(const struct unigram *u, struct unigram_scratch *s, const char *piece, size_t n,
                   struct ids *out)
{
    const unsigned char *p = (const unsigned char *)piece;
    int64_t unknown = u->v->roles[TOKENIZER_UNKNOWN];
    size_t len;
    if (n >= NONE)
        return err_set("the text has a piece of %zu bytes that cannot be split: too long", n);
    mem_grow(s->best, s->cap, n + 1);
    memset(s->best, 0xFF, (n + 1) * sizeof *s->best);
    s->best[0] = (struct unigram_best){ 0, NONE, 0 };
    for (size_t at = 0; at < n; at += len) {
        utf8_get(p + at, &len);
        extend(u, s->best, p, n, at, len);
    }
    turn(s->best, n);
    int result = 0;
    for (size_t at = 0, end; at < n && !result; at = end) {
        end = s->best[at].begin;
        if (s->best[at].id != (uint32_t)unknown) {
            ids_add(out, s->best[at].id);
            continue;
        }
        while (end < n && s->best[end].id == (uint32_t)unknown)
            end = s->best[end].begin;
        result = put_unknown(u, piece + at, end - at, out);
    }
    if (s->cap > SCRATCH_KEPT)
        unigram_scratch_release(s);
    return result;
}
