#include "tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"
#include "tokenizer/bpe.h"
#include "tokenizer/files.h"
#include "tokenizer/pretokenize.h"
#include "tokenizer/unicode.h"

struct tokenizer {
    struct vocabulary v;
    struct bpe *bpe;
    uint64_t checksum;
    /* Per kind of encoding and pass over the text: the added tokens looked for, and the bytes
     * with which one begins. */
    struct added_set {
        struct added_token *items;
        size_t count;
        unsigned char first[256];
    } added[2][2];
};

void ids_add(struct ids *ids, uint32_t id)
{
    mem_grow(ids->data, ids->cap, ids->count + 1);
    ids->data[ids->count++] = id;
}

void ids_release(struct ids *ids)
{
    free(ids->data);
    *ids = (struct ids){ 0 };
}

/* ---- the tokenizer --------------------------------------------------------------------------- */

static uint64_t checksum(const struct vocabulary *v)
{
    uint64_t h = 0xCBF29CE484222325u; /* FNV-1a over length and bytes of each token */
    for (uint32_t id = 0; id < v->count; id++) {
        const struct vocabulary_token *t = &v->tokens[id];
        for (int i = 0; i < 32; i += 8)
            h = (h ^ (t->len >> i & 0xFF)) * 0x100000001B3u;
        for (uint32_t i = 0; i < t->len; i++)
            h = (h ^ (unsigned char)v->blob.data[t->at + i]) * 0x100000001B3u;
    }
    return h;
}

/* Pass 0 looks for the tokens that are not "normalized", pass 1 for the others. */
static void collect_added(struct tokenizer *t)
{
    for (size_t i = 0; i < t->v.added_count; i++) {
        const struct added_token *a = &t->v.added[i];
        for (int special = a->special; special < 2; special++) {
            struct added_set *set = &t->added[special][a->normalized];
            set->items = mem_resize(set->items, set->count + 1, sizeof *set->items);
            set->items[set->count++] = *a;
            set->first[(unsigned char)t->v.blob.data[t->v.tokens[a->id].at]] = 1;
        }
    }
}

struct tokenizer *tokenizer_from_vocabulary(struct vocabulary *v)
{
    struct tokenizer *t = mem_zalloc(1, sizeof *t);
    int64_t byte_ids[256];
    t->v = *v;
    vocabulary_init(v);
    vocabulary_byte_ids(&t->v, byte_ids);
    t->bpe = bpe_new(byte_ids, t->v.merges, t->v.merge_count);
    t->checksum = checksum(&t->v);
    collect_added(t);
    return t;
}

struct tokenizer *tokenizer_load(const char *path)
{
    struct vocabulary v;
    return vocabulary_load(&v, path) < 0 ? NULL : tokenizer_from_vocabulary(&v);
}

void tokenizer_free(struct tokenizer *t)
{
    if (!t)
        return;
    for (int i = 0; i < 4; i++)
        free(t->added[i / 2][i % 2].items);
    bpe_free(t->bpe);
    vocabulary_release(&t->v);
    free(t);
}

int tokenizer_save(const struct tokenizer *t, const char *dir)
{
    return vocabulary_save(&t->v, dir);
}

uint32_t tokenizer_size(const struct tokenizer *t)
{
    return t->v.count;
}

int64_t tokenizer_end_of_text(const struct tokenizer *t)
{
    return t->v.end_of_text;
}

uint64_t tokenizer_checksum(const struct tokenizer *t)
{
    return t->checksum;
}

const char *tokenizer_token(const struct tokenizer *t, uint32_t id, size_t *len)
{
    return vocabulary_bytes(&t->v, id, len);
}

int64_t tokenizer_find(const struct tokenizer *t, const char *bytes, size_t n)
{
    return vocabulary_find(&t->v, bytes, n);
}

int tokenizer_decode(const struct tokenizer *t, const uint32_t *ids, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t len;
        const char *bytes = vocabulary_bytes(&t->v, ids[i], &len);
        if (!bytes)
            return err_set("id %u at place %zu is not in the vocabulary of %u", ids[i], i,
                           t->v.count);
        buf_add(out, bytes, len);
    }
    return 0;
}

/* ---- the word cache -------------------------------------------------------------------------- */

/* Words come again: most pieces of a text are found here with their ids. A piece of up to 15
 * bytes and 4 ids has an entry of half a cache line, in the one of two places of its bucket that
 * was used last or in the other; a new one drops the older. The size is fixed. */
enum { CACHE_BUCKETS = 1 << 15, WORD_MAX = 15, WORD_IDS = 4, COUNT_SHIFT = 24 };

struct word {
    uint64_t key[2]; /* the bytes, zero-padded; the last byte is their number */
    uint32_t ids[WORD_IDS]; /* the number of ids stands above the first */
};

struct encoder {
    const struct tokenizer *t;
    struct split *split;
    struct bpe_scratch scratch;
    struct word (*cache)[2];
    struct buf repaired, prefixed;
    size_t ends[1024];
};

static inline void word_key(uint64_t key[2], const char *piece, size_t n)
{
    unsigned char bytes[16] = { 0 };
    memcpy(bytes, piece, n);
    bytes[15] = (unsigned char)n;
    memcpy(key, bytes, sizeof bytes);
}

static inline size_t word_bucket(const uint64_t key[2])
{
    uint64_t h = (key[0] ^ key[1] * 0xD6E8FEB86659FD93u) * 0x9E3779B97F4A7C15u;
    return (h ^ h >> 32) & (CACHE_BUCKETS - 1);
}

static inline void emit_word(struct ids *out, const struct word *w)
{
    size_t count = w->ids[0] >> COUNT_SHIFT;
    mem_grow(out->data, out->cap, out->count + WORD_IDS);
    memcpy(out->data + out->count, w->ids, sizeof w->ids);
    out->data[out->count] &= (1u << COUNT_SHIFT) - 1;
    out->count += count;
}

static int encode_piece(struct encoder *e, const char *piece, size_t n, struct ids *out)
{
    const struct vocabulary *v = &e->t->v;
    if (v->ignore_merges) {
        int64_t id = vocabulary_find(v, piece, n);
        if (id >= 0 && v->tokens[id].kind == TOKEN_MODEL) {
            ids_add(out, (uint32_t)id);
            return 0;
        }
    }
    return bpe_encode(e->t->bpe, &e->scratch, piece, n, out);
}

static int encode_new_word(struct encoder *e, struct word bucket[2], const uint64_t key[2],
                           const char *piece, size_t n, struct ids *out)
{
    size_t before = out->count;
    if (encode_piece(e, piece, n, out) < 0)
        return -1;
    size_t count = out->count - before;
    if (count > WORD_IDS)
        return 0;
    bucket[1] = bucket[0];
    struct word *w = &bucket[0];
    memcpy(w->key, key, sizeof w->key);
    memcpy(w->ids, out->data + before, count * sizeof *w->ids);
    w->ids[0] |= (uint32_t)count << COUNT_SHIFT;
    return 0;
}

static inline int encode_word(struct encoder *e, const char *piece, size_t n, struct ids *out)
{
    uint64_t key[2];
    word_key(key, piece, n);
    struct word *bucket = e->cache[word_bucket(key)];
    for (int i = 0; i < 2; i++) {
        if (bucket[i].key[0] == key[0] && bucket[i].key[1] == key[1]) {
            emit_word(out, &bucket[i]);
            return 0;
        }
    }
    return encode_new_word(e, bucket, key, piece, n, out);
}

/* ---- encoding -------------------------------------------------------------------------------- */

struct encoder *encoder_new(const struct tokenizer *t)
{
    struct encoder *e = mem_zalloc(1, sizeof *e);
    e->t = t;
    e->split = split_new(&t->v.splitter);
    e->cache = mem_aligned(CACHE_BUCKETS, sizeof *e->cache);
    memset(e->cache, 0, CACHE_BUCKETS * sizeof *e->cache);
    buf_init(&e->repaired);
    buf_init(&e->prefixed);
    return e;
}

void encoder_free(struct encoder *e)
{
    if (!e)
        return;
    split_free(e->split);
    bpe_scratch_release(&e->scratch);
    free(e->cache);
    buf_release(&e->repaired);
    buf_release(&e->prefixed);
    free(e);
}

/* Text without added tokens. */
static int encode_plain(struct encoder *e, const char *text, size_t n, struct ids *out)
{
    if (e->t->v.prefix_space && n && text[0] != ' ') {
        buf_clear(&e->prefixed);
        buf_addc(&e->prefixed, ' ');
        buf_add(&e->prefixed, text, n);
        text = e->prefixed.data;
        n++;
    }
    split_begin(e->split, text, n);
    size_t begin = 0;
    int count;
    while ((count = split_next(e->split, e->ends, sizeof e->ends / sizeof *e->ends)) > 0) {
        for (int i = 0; i < count; begin = e->ends[i++]) {
            size_t len = e->ends[i] - begin;
            int result = len <= WORD_MAX ? encode_word(e, text + begin, len, out)
                                         : encode_piece(e, text + begin, len, out);
            if (result < 0)
                return err_in("at byte %zu of the text", begin);
        }
    }
    return count;
}

/* The longest token of the set that stands at text[at..n), or NULL. */
static const struct added_token *added_at(const struct vocabulary *v, const struct added_set *set,
                                          const char *text, size_t n, size_t at)
{
    const struct added_token *best = NULL;
    size_t best_len = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct vocabulary_token *t = &v->tokens[set->items[i].id];
        if (t->len > best_len && t->len <= n - at &&
            !memcmp(v->blob.data + t->at, text + at, t->len)) {
            best = &set->items[i];
            best_len = t->len;
        }
    }
    return best;
}

static int is_space_at(const char *text, size_t at, size_t *len)
{
    uint32_t c = utf8_get((const unsigned char *)text + at, len);
    return unicode_class(unicode_classes(), c) == UNICODE_SPACE;
}

static size_t skip_spaces(const char *text, size_t n, size_t at)
{
    size_t len;
    while (at < n && is_space_at(text, at, &len))
        at += len;
    return at;
}

/* Where the white space before `at` begins, not before `from`. */
static size_t back_over_spaces(const char *text, size_t from, size_t at)
{
    while (at > from) {
        size_t before = at - 1, len;
        while (before > from && ((unsigned char)text[before] & 0xC0) == 0x80)
            before--;
        if (!is_space_at(text, before, &len))
            break;
        at = before;
    }
    return at;
}

/* Cuts the added tokens of one pass out of the text, and hands what is between to the next. */
static int encode_pass(struct encoder *e, const char *text, size_t n,
                       enum tokenizer_special special, int pass, struct ids *out)
{
    if (pass == 2)
        return encode_plain(e, text, n, out);
    const struct vocabulary *v = &e->t->v;
    const struct added_set *set = &e->t->added[special][pass];
    size_t done = 0;
    for (size_t at = 0; at < n && set->count;) {
        const struct added_token *a = NULL;
        if (set->first[(unsigned char)text[at]])
            a = added_at(v, set, text, n, at);
        if (!a) {
            at++;
            continue;
        }
        size_t begin = a->lstrip ? back_over_spaces(text, done, at) : at;
        at += v->tokens[a->id].len;
        if (encode_pass(e, text + done, begin - done, special, pass + 1, out) < 0)
            return -1;
        ids_add(out, a->id);
        done = at = a->rstrip ? skip_spaces(text, n, at) : at;
    }
    return encode_pass(e, text + done, n - done, special, pass + 1, out);
}

int encoder_encode(struct encoder *e, const char *text, size_t n, enum tokenizer_special special,
                   struct ids *out)
{
    if (utf8_valid(text, n) != n) {
        buf_clear(&e->repaired);
        utf8_repair(&e->repaired, text, n);
        text = e->repaired.data;
        n = e->repaired.len;
    }
    return encode_pass(e, text, n, special, 0, out);
}

void encoder_repair(struct buf *out, const char *text, size_t n)
{
    utf8_repair(out, text, n);
}
