#include "tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/hash.h"
#include "common/js.h"
#include "common/mem.h"
#include "tokenizer/added.h"
#include "tokenizer/decoder.h"
#include "tokenizer/files.h"
#include "tokenizer/pretokenize.h"
#include "tokenizer/subword.h"
#include "tokenizer/unicode.h"
#include "tokenizer/wordcache.h"
#include "tokenizer/wordpiece.h"

struct tokenizer {
    struct vocabulary v;
    struct subword *subword;
    struct normalizer *normalizer; /* NULL unless BERT's rules make the words */
    uint64_t checksum;
    uint32_t *whole; /* tokens that are what their own bytes are encoded as, in order of id */
    size_t whole_count;
    struct added_set added[2]; /* what each pass over the text looks for */
};

/* ---- the tokenizer --------------------------------------------------------------------------- */

/* Of length, in 4 bytes from the lowest, and bytes of each token. */
static uint64_t checksum(const struct vocabulary *v)
{
    uint64_t h = HASH_START;
    for (uint32_t id = 0; id < v->count; id++) {
        const struct vocabulary_token *t = &v->tokens[id];
        const uint8_t len[] = { t->len & 0xFF, t->len >> 8 & 0xFF, t->len >> 16 & 0xFF,
                                t->len >> 24 };
        h = hash_more(h, len, sizeof len);
        h = hash_more(h, v->blob.data + t->at, t->len);
    }
    return h;
}

/* Pass 0 looks for the tokens that are not "normalized", pass 1 for the others, as they are after
 * normalization. */
static int collect_added(struct tokenizer *t)
{
    struct stepper *s = stepper_new(&t->v.normalizer, &t->v.pre_tokenizer);
    struct buf text = BUF_INIT;
    int result = 0, lost;
    for (size_t i = 0; i < t->v.added_count && !result; i++) {
        const struct added_token *a = &t->v.added[i];
        const char *content = t->v.blob.data + a->at;
        buf_clear(&text);
        if (a->normalized)
            result = stepper_normalize(s, content, a->len, &text, &lost);
        else
            buf_add(&text, content, a->len);
        added_put(&t->added[a->normalized], a, text.data, text.len);
    }
    buf_release(&text);
    stepper_free(s);
    return result;
}

/* The added token of an id as decoding has it, which is what is looked for; NULL. */
static const struct added_item *find_item(const struct tokenizer *t, uint32_t id)
{
    for (int pass = 0; pass < 2 && t->v.tokens[id].is_added; pass++)
        for (size_t i = 0; i < t->added[pass].count; i++)
            if (t->added[pass].items[i].token.id == id)
                return &t->added[pass].items[i];
    return NULL;
}

/* Whether decoding by bytes gives what Hugging Face's decoder makes of the name: that takes it after
 * normalization, and its characters for bytes where it has only such as are. */
static int decodes_to_its_bytes(const struct vocabulary *v, const struct added_item *item)
{
    struct buf want = BUF_INIT;
    size_t n = 0;
    const char *bytes = vocabulary_bytes(v, item->token.id, &n);
    if (!v->byte_level || alphabet_decode(&want, item->text, item->len) < 0)
        buf_add(&want, item->text, item->len);
    int same = n == want.len && !memcmp(bytes, want.data, n);
    buf_release(&want);
    return same;
}

/* Names that decode to others than their bytes need a decoder of steps. */
static int settle_decoder(struct tokenizer *t)
{
    static const char *const ways[] = {
        "{\"type\":\"ByteLevel\"}",
        "{\"type\":\"WordPiece\",\"cleanup\":false}",
        "{\"type\":\"WordPiece\",\"cleanup\":true}",
    };
    int same = 1;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < t->added[pass].count; i++)
            same &= decodes_to_its_bytes(&t->v, &t->added[pass].items[i]);
    if (same || t->v.decoder || !t->v.json[DECODER])
        return 0;
    const char *way = ways[t->v.byte_level ? 0 : t->v.cleanup ? 2 : 1];
    struct js *value = js_parse(way, strlen(way), "decoder");
    t->v.decoder = decoder_new(value);
    js_free(value);
    return t->v.decoder ? 0 : -1;
}

/* Most words of a text are tokens: an encoder knows them from the start. */
static void find_whole(struct tokenizer *t)
{
    struct subword_scratch scratch = { 0 };
    struct ids ids = { 0 };
    t->whole = mem_alloc(t->v.count * sizeof *t->whole);
    for (uint32_t id = 0; id < t->v.count; id++) {
        size_t n = 0;
        const char *bytes = vocabulary_bytes(&t->v, id, &n);
        ids.count = 0;
        if (n && t->v.tokens[id].kind == TOKEN_MODEL &&
            (t->v.byte_level || utf8_valid(bytes, n) == n) &&
            !subword_encode(t->subword, &scratch, bytes, n, &ids) && ids.count == 1 &&
            ids.data[0] == id)
            t->whole[t->whole_count++] = id;
    }
    ids_release(&ids);
    subword_scratch_release(&scratch);
}

struct tokenizer *tokenizer_from_vocabulary(struct vocabulary *v)
{
    struct tokenizer *t = mem_zalloc(1, sizeof *t);
    t->v = *v;
    vocabulary_init(v);
    if (t->v.model == VOCABULARY_WORDPIECE && !t->v.general)
        t->normalizer = normalizer_new(&t->v.rules);
    t->subword = subword_new(&t->v);
    t->checksum = checksum(&t->v);
    if (collect_added(t) < 0 || settle_decoder(t) < 0) {
        tokenizer_free(t);
        return NULL;
    }
    find_whole(t);
    return t;
}

void tokenizer_into_vocabulary(struct tokenizer *t, struct vocabulary *v)
{
    *v = t->v;
    vocabulary_init(&t->v);
    tokenizer_free(t);
}

struct tokenizer *tokenizer_load_with(const char *path, const struct tokenizer_options *o)
{
    struct vocabulary v;
    return vocabulary_load(&v, path, o) < 0 ? NULL : tokenizer_from_vocabulary(&v);
}

struct tokenizer *tokenizer_load(const char *path)
{
    return tokenizer_load_with(path, &(struct tokenizer_options){ 0 });
}

void tokenizer_free(struct tokenizer *t)
{
    if (!t)
        return;
    added_release(&t->added[0]);
    added_release(&t->added[1]);
    free(t->whole);
    subword_free(t->subword);
    normalizer_free(t->normalizer);
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

int tokenizer_is_wordpiece(const struct tokenizer *t)
{
    return t->v.model == VOCABULARY_WORDPIECE;
}

int tokenizer_tiles(const struct tokenizer *t)
{
    return t->v.byte_level && !t->v.general;
}

int64_t tokenizer_role(const struct tokenizer *t, enum tokenizer_role role)
{
    return t->v.roles[role];
}

/* ---- decoding -------------------------------------------------------------------------------- */

static inline int begins(const char *text, size_t n, const char *with, size_t len)
{
    return n >= len && !memcmp(text, with, len);
}

/* Whether no space stands before it: . ? ! , and n't, 'm, 's, 've, 're. */
static inline int closes_up(const char *bytes, size_t n)
{
    switch (n ? bytes[0] : 0) {
    case '.':
    case '?':
    case '!':
    case ',':
        return 1;
    case 'n':
        return begins(bytes, n, "n't", 3);
    case '\'':
        return begins(bytes, n, "'m", 2) || begins(bytes, n, "'s", 2) ||
               begins(bytes, n, "'ve", 3) || begins(bytes, n, "'re", 3);
    default:
        return 0;
    }
}

/* A word's piece as Hugging Face's WordPiece decoder writes it, token by token. */
static inline void put_word(const struct vocabulary *v, int first, const char *bytes, size_t n,
                            struct buf *out)
{
    int continues = !first && begins(bytes, n, wordpiece_prefix, 2);
    size_t left = continues ? 2 : 0;
    if (out->cap < out->len + n + 2)
        buf_reserve(out, n + 2);
    out->data[out->len] = ' ';
    out->len += !first && !continues && !(v->cleanup && closes_up(bytes, n));
    memcpy(out->data + out->len, bytes + left, n - left);
    out->len += n - left;
    out->data[out->len] = '\0';
}

/* The added token of an id, or NULL. */
static const struct added_token *find_added(const struct vocabulary *v, uint32_t id)
{
    for (size_t i = 0; i < v->added_count && v->tokens[id].is_added; i++)
        if (v->added[i].id == id)
            return &v->added[i];
    return NULL;
}

static int is_special(const struct vocabulary *v, uint32_t id)
{
    const struct added_token *a = find_added(v, id);
    return a && a->special;
}

static int bad_id(const struct tokenizer *t, uint32_t id, size_t place)
{
    return err_set("id %u at place %zu is not in the vocabulary of %u", id, place, t->v.count);
}

/* The bytes of tokens behind one another; those of a short one without a loop over them. */
static int decode_bytes(const struct tokenizer *t, const uint32_t *ids, size_t n, struct buf *out)
{
    enum { STEP = 16 };
    const struct vocabulary *v = &t->v;
    size_t all = 0;
    for (size_t i = 0; i < n; i++) {
        if (ids[i] >= v->count || v->tokens[ids[i]].kind == TOKEN_HOLE)
            return bad_id(t, ids[i], i);
        all += v->tokens[ids[i]].len;
    }
    buf_reserve(out, all + STEP);
    for (size_t i = 0; i < n; i++) {
        const struct vocabulary_token *token = &v->tokens[ids[i]];
        const char *from = v->blob.data + token->at;
        char *to = out->data + out->len;
        if (token->len <= STEP && token->at + STEP <= v->blob.cap)
            memcpy(to, from, STEP);
        else
            memcpy(to, from, token->len);
        out->len += token->len;
    }
    out->data[out->len] = '\0';
    return 0;
}

/* Through the steps of the vocabulary's decoder, which take names in the byte alphabet. */
static int decode_names(const struct tokenizer *t, const uint32_t *ids, size_t n, int skip,
                        struct buf *out)
{
    const struct vocabulary *v = &t->v;
    struct strings names = STRINGS_INIT;
    struct buf name = BUF_INIT;
    int result = 0;
    for (size_t i = 0; i < n && !result; i++) {
        size_t len;
        const char *bytes = vocabulary_bytes(v, ids[i], &len);
        if (!bytes)
            result = bad_id(t, ids[i], i);
        else if (!(skip && is_special(v, ids[i]))) {
            const struct added_item *item = find_item(t, ids[i]);
            buf_clear(&name);
            if (item)
                buf_add(&name, item->text, item->len);
            else
                vocabulary_name(v, ids[i], &name);
            strings_add(&names, name.data, name.len);
        }
    }
    if (!result)
        result = decoder_run(v->decoder, &names, out);
    strings_release(&names);
    buf_release(&name);
    return result;
}

static int decode(const struct tokenizer *t, const uint32_t *ids, size_t n, int skip,
                  struct buf *out)
{
    int wordpiece = t->v.model == VOCABULARY_WORDPIECE;
    if (t->v.decoder)
        return decode_names(t, ids, n, skip, out);
    if (!skip && !wordpiece)
        return decode_bytes(t, ids, n, out);
    const struct vocabulary *v = &t->v;
    int first = 1;
    for (size_t i = 0; i < n; i++) {
        size_t len;
        const char *bytes = vocabulary_bytes(v, ids[i], &len);
        if (!bytes)
            return bad_id(t, ids[i], i);
        if (skip && is_special(v, ids[i]))
            continue;
        if (wordpiece)
            put_word(v, first, bytes, len, out);
        else
            buf_add(out, bytes, len);
        first = 0;
    }
    return 0;
}

int tokenizer_decode(const struct tokenizer *t, const uint32_t *ids, size_t n, struct buf *out)
{
    return decode(t, ids, n, 0, out);
}

int tokenizer_decode_text(const struct tokenizer *t, const uint32_t *ids, size_t n,
                          struct buf *out)
{
    return decode(t, ids, n, 1, out);
}

/* ---- special tokens about a text -------------------------------------------------------------- */

void tokenizer_assemble(const struct tokenizer *t, const struct ids *a, const struct ids *b,
                        struct ids *out, struct ids *types)
{
    const struct template *form = b ? &t->v.pair : &t->v.single;
    for (size_t i = 0; i < form->count; i++) {
        const struct template_part *p = &form->parts[i];
        uint32_t token = (uint32_t)p->id;
        const struct ids one = { &token, 1, 1 };
        const struct ids *ids = p->id == TEMPLATE_A ? a : p->id == TEMPLATE_B ? b : &one;
        for (size_t k = 0; k < ids->count; k++) {
            ids_add(out, ids->data[k]);
            ids_add(types, p->type);
        }
    }
}

/* ---- encoding -------------------------------------------------------------------------------- */

enum { WORDS_MAX = 1 << 30 }; /* bytes of a text of BERT's */

struct encoder {
    const struct tokenizer *t;
    struct split *split; /* one or the other */
    struct words *words;
    struct stepper *stepper;
    struct words *letters; /* for places: the walk over one character, made when wanted */
    struct ids sources;
    struct subword_scratch scratch;
    struct wordcache *cache;
    struct buf repaired, prefixed, normalized;
    struct pieces tiles; /* that follow one another */
    size_t bounds[1024];
};

static int encode_unknown(void *ctx, const struct pieces *p, struct ids *out, size_t *ends)
{
    struct encoder *e = ctx;
    return subword_encode_all(e->t->subword, &e->scratch, p, out, ends);
}

struct encoder *encoder_new(const struct tokenizer *t)
{
    struct encoder *e = mem_zalloc(1, sizeof *e);
    e->t = t;
    if (t->v.general)
        e->stepper = stepper_new(&t->v.normalizer, &t->v.pre_tokenizer);
    else if (t->normalizer)
        e->words = words_new(t->normalizer);
    else
        e->split = split_new(&t->v.splitter);
    e->cache = wordcache_new(encode_unknown, e);
    for (size_t i = t->whole_count; i--;) { /* the frequent ones, whose ids are low, come last */
        size_t len;
        const char *bytes = vocabulary_bytes(&t->v, t->whole[i], &len);
        wordcache_put(e->cache, bytes, len, &t->whole[i], 1);
    }
    buf_init(&e->repaired);
    buf_init(&e->prefixed);
    buf_init(&e->normalized);
    return e;
}

void encoder_free(struct encoder *e)
{
    if (!e)
        return;
    split_free(e->split);
    stepper_free(e->stepper);
    words_free(e->words);
    words_free(e->letters);
    ids_release(&e->sources);
    subword_scratch_release(&e->scratch);
    wordcache_free(e->cache);
    buf_release(&e->repaired);
    buf_release(&e->prefixed);
    buf_release(&e->normalized);
    free(e);
}

static const char *with_prefix_space(struct encoder *e, const char *text, size_t *n)
{
    if (!e->t->v.prefix_space || !*n || text[0] == ' ')
        return text;
    buf_clear(&e->prefixed);
    buf_addc(&e->prefixed, ' ');
    buf_add(&e->prefixed, text, *n);
    *n += 1;
    return e->prefixed.data;
}

/* A walk over the pieces of a normalized text without added tokens. `first`: as for stepper_cut. */
static int cut_begin(struct encoder *e, const char *text, size_t n, int first)
{
    if (e->stepper)
        return stepper_cut(e->stepper, text, n, first, &e->tiles);
    if (e->words) {
        words_begin(e->words, text, n);
        return 0;
    }
    text = with_prefix_space(e, text, &n);
    e->tiles = (struct pieces){ .text = text, .readable = n, .begins = e->bounds,
                                .ends = e->bounds + 1 };
    e->bounds[0] = 0;
    split_begin(e->split, text, n);
    return 0;
}

/* 1, 0 at the end, -1. */
static int cut_next(struct encoder *e, struct pieces *p)
{
    enum { MAX = sizeof e->bounds / sizeof *e->bounds - 1 };
    if (e->words)
        return words_next(e->words, p);
    if (e->stepper) { /* all at once */
        *p = e->tiles;
        e->tiles.count = 0;
        return p->count > 0;
    }
    e->bounds[0] = e->bounds[e->tiles.count];
    int count = split_next(e->split, e->bounds + 1, MAX);
    e->tiles.count = count > 0 ? (size_t)count : 0;
    *p = e->tiles;
    return count < 0 ? -1 : count > 0;
}

/* Text without added tokens. */
static int encode_plain(struct encoder *e, const char *text, size_t n, int first, struct ids *out)
{
    struct pieces p;
    size_t failed;
    int got = cut_begin(e, text, n, first);
    while (!got && (got = cut_next(e, &p)) > 0)
        got = wordcache_encode(e->cache, &p, out, &failed) < 0
                  ? err_in("at byte %zu of the text", p.begins[failed])
                  : 0;
    return got;
}

/* The text that the second pass sees: e->normalized, or the text itself. */
static int normalize(struct encoder *e, const char **text, size_t *n, int *first)
{
    int lost;
    if (!e->stepper)
        return 0;
    buf_clear(&e->normalized);
    if (stepper_normalize(e->stepper, *text, *n, &e->normalized, &lost) < 0)
        return -1;
    *text = e->normalized.data;
    *n = e->normalized.len;
    *first &= !lost;
    return 0;
}

/* Cuts the added tokens of one pass out of the text, and hands what is between to the next. */
static int encode_pass(struct encoder *e, const char *text, size_t n,
                       enum tokenizer_special special, int pass, int first, struct ids *out)
{
    if (pass == 1 && normalize(e, &text, &n, &first) < 0)
        return -1;
    if (pass == 2)
        return encode_plain(e, text, n, first, out);
    struct added_walk w = { .text = text, .n = n };
    while (added_next(&e->t->added[pass], &w, special == TOKENIZER_SPECIAL)) {
        if (w.done < w.begin && encode_pass(e, text + w.done, w.begin - w.done, special, pass + 1,
                                            first && !w.done, out) < 0)
            return -1;
        ids_add(out, w.id);
        w.done = w.end;
    }
    return w.done < n ? encode_pass(e, text + w.done, n - w.done, special, pass + 1,
                                    first && !w.done, out)
                      : 0;
}

/* Makes the text valid UTF-8; -1: it is too long. */
static int check_text(struct encoder *e, const char **text, size_t *n)
{
    if (utf8_valid(*text, *n) != *n) {
        buf_clear(&e->repaired);
        utf8_repair(&e->repaired, *text, *n);
        *text = e->repaired.data;
        *n = e->repaired.len;
    }
    if (e->words && *n > WORDS_MAX)
        return err_set("a document of %zu bytes is too long for WordPiece", *n);
    return 0;
}

int encoder_encode(struct encoder *e, const char *text, size_t n, enum tokenizer_special special,
                   struct ids *out)
{
    return check_text(e, &text, &n) < 0 ? -1 : encode_pass(e, text, n, special, 0, 1, out);
}

int encoder_pieces(struct encoder *e, const char *text, size_t n,
                   int (*put)(void *ctx, const char *piece, size_t n), void *ctx)
{
    struct pieces p;
    int got, first = 1;
    if (check_text(e, &text, &n) < 0 || normalize(e, &text, &n, &first) < 0 ||
        cut_begin(e, text, n, first) < 0)
        return -1;
    while ((got = cut_next(e, &p)) > 0)
        for (size_t i = 0; i < p.count; i++)
            if (put(ctx, p.text + p.begins[i], p.ends[i] - p.begins[i]) < 0)
                return -1;
    return got;
}

/* ---- places --------------------------------------------------------------------------------- */

/* Of each byte of the text's words, the code point that it came from: what a character becomes
 * has the same length alone as among others. */
static void find_sources(struct encoder *e, const char *text, size_t n)
{
    struct pieces p;
    size_t len;
    uint32_t point = 0;
    e->sources.count = 0;
    if (!e->letters)
        e->letters = words_new(e->t->normalizer);
    for (size_t i = 0; i < n; i += len, point++) {
        utf8_get((const unsigned char *)text + i, &len);
        words_begin(e->letters, text + i, len);
        while (words_next(e->letters, &p))
            for (size_t k = 0; k < p.count; k++)
                for (size_t b = p.begins[k]; b < p.ends[k]; b++)
                    ids_add(&e->sources, point);
    }
}

/* The places of a word's tokens; its n bytes came from sources[0..n). */
static void put_places(const struct encoder *e, const uint32_t *ids, size_t count, size_t n,
                       const uint32_t *sources, struct ids *begins, struct ids *ends)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t len = n; /* of the unknown token, which is all of its word */
        if (ids[i] != (uint32_t)tokenizer_role(e->t, TOKENIZER_UNKNOWN)) {
            tokenizer_token(e->t, ids[i], &len);
            len -= i ? strlen(wordpiece_prefix) : 0;
        }
        ids_add(begins, sources[at]);
        ids_add(ends, sources[at + len - 1] + 1);
        at += len;
    }
}

int encoder_encode_places(struct encoder *e, const char *text, size_t n, struct ids *out,
                          struct ids *begins, struct ids *ends)
{
    struct pieces p;
    size_t at = 0, failed;
    if (!e->words)
        return err_set("places of tokens are known for WordPiece only");
    if (n > WORDS_MAX || utf8_valid(text, n) != n)
        return err_set("a text of %zu bytes is too long or not UTF-8", n);
    find_sources(e, text, n);
    words_begin(e->words, text, n);
    while (words_next(e->words, &p)) {
        for (size_t i = 0; i < p.count; i++) {
            const struct pieces word = { p.text, p.readable, p.begins + i, p.ends + i, 1 };
            size_t before = out->count, bytes = p.ends[i] - p.begins[i];
            if (wordcache_encode(e->cache, &word, out, &failed) < 0)
                return -1;
            put_places(e, out->data + before, out->count - before, bytes, e->sources.data + at,
                       begins, ends);
            at += bytes;
        }
    }
    return 0;
}

void encoder_repair(struct buf *out, const char *text, size_t n)
{
    utf8_repair(out, text, n);
}
