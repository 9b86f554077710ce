#include "tokenizer/model/unigram.h"

#include <math.h>

#include "common/base/le.h"
#include "common/base/utf8.h"
#include "tokenizer/cut/trie.h"
#include "tokenizer/model/vocabulary.h"

#define NONE UINT32_MAX

/* A packed piece, whose tokens depend on the sum before it: PACKED_MARK, its length in two numbers,
 * and its bytes, BYTES_PACKED to a number. */
enum { SCRATCH_KEPT = 1 << 20, PACKED_MARK = VOCABULARY_MAX, HEAD = 3, BYTES_PACKED = 3 };
static const double unknown_penalty = 10;

/* Where a sum of SentencePiece's goes beyond `most`, it starts again from 0. A piece that is not
 * packed changes it by less than `margin`; so floats are rounded by at most half of `step`. */
static const double most = 1e5, margin = 2048, step = 1.0 / (1 << 7);

struct unigram {
    const struct vocabulary *v;
    struct trie trie;                 /* of the tokens, with their ids */
    size_t longest;                   /* bytes of a token, and at least of a character */
    double unknown_score, best_score; /* of an unknown character; the highest of a token */
    int64_t fallback[256];            /* ids of <0x00> ... <0xFF>, -1 for none */
};

/* The best segmentation that ends at a place: its score; `lead`: the scores of all others are lower
 * by at least this; the id and the beginning of its last token. */
struct unigram_best {
    double score, lead;
    uint32_t id, begin; /* begin NONE: no segmentation yet */
};

/* ---- the trie -------------------------------------------------------------------------------- */

static int is_byte(const struct unigram *u, uint32_t id)
{
    int is = 0;
    for (int b = 0; b < 256; b++)
        is |= u->fallback[b] == id;
    return is;
}

/* Returns 1 if the token is hidden, which means that the model never finds it in a text
 * (vocabulary.h, `hides`). Else returns 0. */
static int is_hidden(const struct unigram *u, uint32_t id)
{
    return u->v->hides && (vocabulary_is_special(u->v, id) || is_byte(u, id));
}

/* Finds the score of an unknown character, and the highest score of a token. */
static void find_scores(struct unigram *u)
{
    const struct vocabulary *v = u->v;
    u->unknown_score = INFINITY;
    for (uint32_t id = 0; id < v->count; id++) {
        if (!v->tokens[id].in_model || (v->hides && (v->tokens[id].added || is_byte(u, id))))
            continue;
        u->unknown_score = fmin(u->unknown_score, v->scores[id]);
        u->best_score = fmax(u->best_score, v->scores[id]);
    }
    u->unknown_score -= unknown_penalty;
    if (v->hides)
        u->unknown_score = (float)u->unknown_score;
}

static void make_trie(struct unigram *u)
{
    const struct vocabulary *v = u->v;
    SCOPED_MEM struct trie_key *keys = mem_alloc(((size_t)v->count + 1) * sizeof *keys);
    size_t count = 0, n;
    for (uint32_t id = 0; id < v->count; id++) {
        const char *bytes = vocabulary_bytes(v, id, &n);
        if (v->tokens[id].in_model && n && utf8_valid(bytes, n) == n && !is_hidden(u, id))
            keys[count++] = (struct trie_key){ bytes, n, id };
    }
    u->longest = 4;
    for (size_t i = 0; i < count; i++)
        u->longest = keys[i].len > u->longest ? keys[i].len : u->longest;
    trie_init(&u->trie, keys, count);
}

struct unigram *unigram_new(const struct vocabulary *v)
{
    struct unigram *u = mem_zalloc(1, sizeof *u);
    u->v = v;
    vocabulary_fallback_ids(v, u->fallback);
    find_scores(u);
    make_trie(u);
    return u;
}

void unigram_free(struct unigram *u)
{
    if (!u)
        return;
    trie_release(&u->trie);
    free(u);
}

void unigram_scratch_release(struct unigram_scratch *s)
{
    free(s->best);
    buf_release(&s->piece);
    ids_release(&s->ids);
    *s = (struct unigram_scratch){ 0 };
}

/* ---- a piece --------------------------------------------------------------------------------- */

/* Offers to *best the segmentation that extends *from by a token with this score. `rounds` 1: sums
 * are floats. */
static void offer(struct unigram_best *best, const struct unigram_best *from, double score,
                  int rounds, uint32_t id, size_t begin)
{
    double sum = from->score + score, lead = from->lead;
    sum = rounds ? (float)sum : sum;
    if (best->begin != NONE && sum <= best->score) {
        best->lead = fmin(best->lead, best->score - sum);
        return;
    }
    if (best->begin != NONE)
        lead = fmin(lead, sum - best->score);
    *best = (struct unigram_best){ sum, lead, id, (uint32_t)begin };
}

/* Extends the best segmentation that ends at `at` by each token that begins there. `len` is the
 * length of the first character. */
static void extend(const struct unigram *u, struct unigram_best *best, const unsigned char *piece,
                   size_t n, size_t at, size_t len, int rounds)
{
    uint32_t node = TRIE_ROOT;
    int alone = 0; /* the character is a token */
    struct unigram_best from = best[at], other = from;
    other.lead = -INFINITY;
    for (size_t i = at; i < n && (node = trie_child(&u->trie, node, piece[i])) != TRIE_NONE; i++) {
        const uint32_t id = u->trie.cells[node].value;
        if (id == TRIE_NONE)
            continue;
        if (u->v->hides && u->v->tokens[id].added) /* the user's: SentencePiece 0.2.3's score */
            offer(&best[i + 1], &other, (float)((double)(i + 1 - at) * 0.1 - 0.1), rounds, id, at);
        else
            offer(&best[i + 1], &from, rounds ? (float)u->v->scores[id] : u->v->scores[id], rounds,
                  id, at);
        alone |= i + 1 - at == len;
    }
    if (!alone)
        offer(&best[at + len], &other, u->unknown_score, rounds,
              (uint32_t)u->v->roles[TOKENIZER_UNKNOWN], at);
}

/* Subtracts the sum at `at` from all sums from there on, so that they go on from 0. Those beyond
 * the longest token are not there yet. */
static void rebase(const struct unigram *u, struct unigram_best *best, size_t at, size_t n)
{
    const double sum = best[at].score;
    for (size_t i = at; i <= n && i <= at + u->longest; i++)
        if (best[i].begin != NONE)
            best[i].score = (float)(best[i].score - sum);
}

/* Finds the best segmentation of a piece. `sum` is the score of the text before it; `rounds` is as
 * for offer(). Returns its score and lead. The lead is -infinity if the segmentation has unknown
 * characters or tokens that the user has defined. */
static struct unigram_best divide(const struct unigram *u, struct unigram_scratch *s,
                                  const char *piece, size_t n, double sum, int rounds)
{
    const unsigned char *p = (const unsigned char *)piece;
    size_t len;
    mem_grow(s->best, s->cap, n + 1);
    memset(s->best, 0xFF, (n + 1) * sizeof *s->best);
    s->best[0] = (struct unigram_best){ sum, INFINITY, NONE, 0 };
    for (size_t at = 0; at < n; at += len) {
        utf8_get(p + at, &len);
        if (rounds && fabs(s->best[at].score) > most)
            rebase(u, s->best, at, n);
        extend(u, s->best, p, n, at, len, rounds);
    }
    return s->best[n];
}

/* Appends the ids of a run of unknown characters. The run as a whole may be a token, if it is not
 * hidden. */
static int put_unknown(const struct unigram *u, const char *text, size_t n, struct ids *out)
{
    int64_t id = vocabulary_find(u->v, text, n);
    size_t known = 0;
    if (id >= 0 && u->v->tokens[id].in_model && !is_hidden(u, (uint32_t)id)) {
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
                       (int)utf8_valid(text, n < 16 ? n : 16), text);
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

/* Appends the ids of the segmentation that divide() found. Returns 0, or -1 with an error. */
static int put_division(const struct unigram *u, struct unigram_scratch *s, const char *piece,
                        size_t n, struct ids *out)
{
    const int64_t unknown = u->v->roles[TOKENIZER_UNKNOWN];
    int result = 0;
    turn(s->best, n);
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
    if (s->cap > SCRATCH_KEPT) {
        free(s->best);
        s->best = NULL;
        s->cap = 0;
    }
    return result;
}

/* Appends piece[0..n) to `out` as a packed piece (PACKED_MARK). */
static void pack(const char *piece, size_t n, struct ids *out)
{
    ids_add(out, PACKED_MARK);
    ids_add(out, (uint32_t)(n % VOCABULARY_MAX));
    ids_add(out, (uint32_t)(n / VOCABULARY_MAX));
    for (size_t i = 0; i < n; i += BYTES_PACKED) {
        uint32_t id = 0;
        memcpy(&id, piece + i, n - i < BYTES_PACKED ? n - i : BYTES_PACKED);
        ids_add(out, le_u32((const unsigned char *)&id));
    }
}

/* Reads the packed piece at the beginning of ids into *piece. Returns the number of ids that it
 * takes. */
static size_t unpack(const uint32_t *ids, struct buf *piece)
{
    size_t n = ids[1] + (size_t)ids[2] * VOCABULARY_MAX, count = HEAD;
    if (!piece->data)
        buf_init(piece);
    buf_clear(piece);
    for (size_t i = 0; i < n; i += BYTES_PACKED) {
        char bytes[4];
        le_put_u32(bytes, ids[count++]);
        buf_add(piece, bytes, n - i < BYTES_PACKED ? n - i : BYTES_PACKED);
    }
    return count;
}

/* Returns 1 if the best segmentation of a piece is the same after any text, because rounding cannot
 * make up for its lead; else 0. Each sum is rounded at most once per character, by half a step at
 * most. */
static int is_certain(const struct unigram *u, struct unigram_best best, const char *piece,
                      size_t n)
{
    const double tokens = (double)utf8_count(piece, n);
    return u->best_score <= 0 && best.lead > tokens * step && -u->unknown_score * tokens < margin;
}

int unigram_encode(const struct unigram *u, struct unigram_scratch *s, const char *piece, size_t n,
                   struct ids *out)
{
    if (n >= NONE)
        return err_set("the text has a piece of %zu bytes that cannot be split: too long", n);
    const struct unigram_best best = divide(u, s, piece, n, 0, 0);
    if (!u->v->hides || is_certain(u, best, piece, n))
        return put_division(u, s, piece, n, out);
    pack(piece, n, out);
    return 0;
}

int unigram_encode_next(const struct unigram *u, struct unigram_scratch *s, const char *piece,
                        size_t n, struct ids *out)
{
    s->sum = (float)divide(u, s, piece, n, s->sum, 1).score;
    return put_division(u, s, piece, n, out);
}

/* Appends ids[0..count), from unigram_encode, to s->ids with each packed piece (pack) replaced by
 * its tokens. Adds all scores to s->sum. Returns as unigram_settle. */
static int unpack_all(const struct unigram *u, struct unigram_scratch *s, const uint32_t *ids,
                      size_t count)
{
    struct ids *out = &s->ids;
    for (size_t i = 0, begin = 0;; begin = i) {
        for (; i < count && ids[i] != PACKED_MARK; i++)
            s->sum += (float)u->v->scores[ids[i]];
        if (s->sum < margin - most)
            return 0;
        ids_append(out, ids + begin, i - begin);
        if (i == count)
            return 1;
        i += unpack(ids + i, &s->piece);
        if (unigram_encode_next(u, s, s->piece.data, s->piece.len, out) < 0)
            return -1;
    }
}

int unigram_settle(const struct unigram *u, struct unigram_scratch *s, struct ids *out, size_t from)
{
    const float before = s->sum;
    if (!u->v->hides || out->count == from)
        return 1;
    s->ids.count = 0;
    int got = unpack_all(u, s, out->data + from, out->count - from);
    out->count = from;
    if (got < 1) {
        s->sum = before;
        return got;
    }
    ids_append(out, s->ids.data, s->ids.count);
    return 1;
}
