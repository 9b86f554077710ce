/* The encoder of tokenizer.h: a text through added tokens, cuts and the model to its ids. */
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "tokenizer/cut/pretokenize.h"
#include "tokenizer/cut/steps.h"
#include "tokenizer/model/added.h"
#include "tokenizer/model/subword.h"
#include "tokenizer/model/vocabulary.h"
#include "tokenizer/model/wordcache.h"
#include "tokenizer/model/wordpiece.h"
#include "tokenizer/parts.h"
#include "tokenizer/tokenizer.h"

enum { WORDS_MAX = 1 << 30 }; /* limit of a text's bytes for WordPiece */

struct encoder {
    const struct tokenizer *t;
    struct split *split; /* either this or `words` is used, unless steps cut the text */
    struct words *words;
    struct stepper *stepper;
    struct words *letters; /* for ranges: the words of one character; made on demand */
    struct ids sources;
    struct subword_scratch scratch;
    struct wordcache *cache;
    struct buf repaired, prefixed, normalized;
    uint64_t replaced;   /* bytes that were not UTF-8 */
    struct pieces tiles; /* pieces without gaps between them */
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
    if (t->v.steps_cut)
        ;
    else if (t->normalizer)
        e->words = words_new(t->normalizer);
    else
        e->split = split_new(&t->v.splitter);
    e->cache = wordcache_new(encode_unknown, e);
    /* from high ids to low: frequent tokens have low ids and must stay in the cache */
    for (size_t i = t->whole_count; i--;) {
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

/* Begins an iteration over the pieces of a normalized text without added tokens. `first` is as for
 * stepper_cut. */
static int cut_begin(struct encoder *e, const char *text, size_t n, int first)
{
    if (e->t->v.steps_cut)
        return stepper_cut(e->stepper, text, n, first, &e->tiles);
    if (e->words) {
        words_begin(e->words, text, n);
        return 0;
    }
    text = with_prefix_space(e, text, &n);
    e->tiles = (struct pieces){
        .text = text, .readable = n, .begins = e->bounds, .ends = e->bounds + 1
    };
    e->bounds[0] = 0;
    split_begin(e->split, text, n);
    return 0;
}

/* Sets *p to the next pieces. Returns 1, 0 at the end, -1 with an error. */
static int cut_next(struct encoder *e, struct pieces *p)
{
    enum { MAX = sizeof e->bounds / sizeof *e->bounds - 1 };
    if (e->words)
        return words_next(e->words, p);
    if (e->t->v.steps_cut) { /* the steps have cut the whole text */
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

static int encode_pieces(struct encoder *e, const struct pieces *p, struct ids *out)
{
    size_t failed;
    return wordcache_encode(e->cache, p, out, &failed) < 0
               ? err_in("at byte %zu of the text", p->begins[failed])
               : 0;
}

/* Encodes pieces, after cutting them into smaller parts (seams.h). */
static int encode_parts(struct encoder *e, const struct pieces *p, struct ids *out)
{
    enum { MAX = sizeof e->bounds / sizeof *e->bounds };
    size_t begins[MAX], count = 0;
    struct pieces parts = { p->text, p->readable, begins, e->bounds, 0 };
    for (size_t i = 0; i < p->count; i++)
        for (size_t at = p->begins[i]; at < p->ends[i]; at = e->bounds[count - 1]) {
            if (count == MAX) {
                parts.count = count;
                if (encode_pieces(e, &parts, out) < 0)
                    return -1;
                count = 0;
            }
            size_t more = seams_cut(e->t->seams, p->text, p->ends[i], at, e->bounds + count,
                                    MAX - count);
            for (size_t k = 0; k < more; k++)
                begins[count + k] = k ? e->bounds[count + k - 1] : at;
            count += more;
        }
    parts.count = count;
    return encode_pieces(e, &parts, out);
}

/* Encodes normalized text without added tokens. */
static int encode_plain(struct encoder *e, const char *text, size_t n, int first, struct ids *out)
{
    struct pieces p;
    int got = cut_begin(e, text, n, first);
    while (!got && (got = cut_next(e, &p)) > 0)
        got = e->t->seams ? encode_parts(e, &p, out) : encode_pieces(e, &p, out);
    return got;
}

/* Normalizes the text for the second pass, into e->normalized, unless it needs no change. Clears
 * *first if the first character was dropped. */
static int normalize(struct encoder *e, const char **text, size_t *n, int *first)
{
    int lost;
    if (!e->stepper || stepper_leaves(e->stepper, *text, *n))
        return 0;
    buf_clear(&e->normalized);
    if (stepper_normalize(e->stepper, *text, *n, &e->normalized, &lost) < 0)
        return -1;
    *text = e->normalized.data;
    *n = e->normalized.len;
    *first &= !lost;
    return 0;
}

/* Finds the added tokens of one pass in the text, and passes the text between them to the next
 * pass. Pass 2 encodes. */
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
    return w.done < n
               ? encode_pass(e, text + w.done, n - w.done, special, pass + 1, first && !w.done, out)
               : 0;
}

/* Replaces invalid UTF-8 in the text. Returns -1 with an error if the text is too long. */
static int check_text(struct encoder *e, const char **text, size_t *n)
{
    if (utf8_valid(*text, *n) != *n) {
        buf_clear(&e->repaired);
        e->replaced += utf8_repair(&e->repaired, *text, *n);
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

/* Sets e->sources: for each byte of the text's words, the code point of the text that it came
 * from. This works because a character normalizes to the same number of bytes alone as among
 * others. */
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

/* Appends the ranges of a word's tokens. The word's n bytes came from the code points
 * sources[0..n). */
static void put_places(const struct encoder *e, const uint32_t *ids, size_t count, size_t n,
                       const uint32_t *sources, struct ids *begins, struct ids *ends)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t len = n; /* the unknown token covers the whole word */
        if (ids[i] != (uint32_t)tokenizer_role(e->t, TOKENIZER_UNKNOWN)) {
            tokenizer_token(e->t, ids[i], &len);
            len -= i ? strlen(wordpiece_prefix) : 0;
        }
        ids_add(begins, sources[at]);
        ids_add(ends, sources[at + len - 1] + 1);
        at += len;
    }
}

static int encode_words(struct encoder *e, const char *text, size_t n, struct ids *out,
                        struct ids *begins, struct ids *ends)
{
    struct pieces p;
    size_t at = 0, failed;
    for (int pass = 0; pass < 2; pass++)
        if (e->t->added[pass].count && !e->t->added[pass].all_special)
            return err_set("offsets are not known for vocabularies with added tokens that are not "
                           "special");
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

static size_t count_spaces(const char *bytes, size_t n, int from_the_end)
{
    size_t i = 0;
    while (i < n && bytes[from_the_end ? n - 1 - i : i] == ' ')
        i++;
    return i;
}

/* Appends the range of a token that covers n bytes at `text`; `points` characters begin before
 * them. The range is the one that Hugging Face's ByteLevel reports: A token that is part of a
 * character has the range of the whole character. A space that was added before the text belongs
 * to the first character. Spaces at a token's sides may be left out. */
static void put_place(const struct encoder *e, uint32_t id, uint32_t points, const char *text,
                      size_t n, struct ids *begins, struct ids *ends)
{
    const struct vocabulary *v = &e->t->v;
    size_t len;
    const char *bytes = tokenizer_token(e->t, id, &len);
    uint32_t begin = points - (n && (text[0] & 0xC0) == 0x80),
             end = points + (uint32_t)utf8_count(text, n);
    uint32_t left = (uint32_t)count_spaces(bytes, len, 0),
             right = (uint32_t)count_spaces(bytes, len, 1);
    end += !n;
    if (v->trims_places) {
        left = left == 1 && !begin && v->keeps_first_space ? 0 : left;
        begin = begin + left < end ? begin + left : end;
        if (right <= end)
            end = end - right > begin ? end - right : begin;
    }
    ids_add(begins, begin);
    ids_add(ends, end);
}

/* Encodes a text whose tokens, joined, have exactly its bytes, and appends their ranges. */
static int encode_tiles(struct encoder *e, const char *text, size_t n, struct ids *out,
                        struct ids *begins, struct ids *ends)
{
    size_t before = out->count, len, at = 0, in_front = e->t->v.prefix_space && n && text[0] != ' ';
    uint32_t points = 0;
    if (encoder_encode(e, text, n, TOKENIZER_ORDINARY, out) < 0)
        return -1;
    for (size_t i = before; i < out->count; i++) {
        tokenizer_token(e->t, out->data[i], &len);
        len -= in_front;
        in_front = 0;
        if (len > n - at)
            return err_set(
                "cannot find the offsets of the tokens in the text: one of them removes spaces");
        put_place(e, out->data[i], points, text + at, len, begins, ends);
        points += (uint32_t)utf8_count(text + at, len);
        at += len;
    }
    return 0;
}

int encoder_encode_places(struct encoder *e, const char *text, size_t n, struct ids *out,
                          struct ids *begins, struct ids *ends)
{
    if (n > WORDS_MAX || utf8_valid(text, n) != n)
        return err_set("a text of %zu bytes is too long or not UTF-8", n);
    if (e->words)
        return encode_words(e, text, n, out, begins, ends);
    return tokenizer_tiles(e->t)
               ? encode_tiles(e, text, n, out, begins, ends)
               : err_set("offsets of tokens are only known for BERT's words and for bytes");
}

void encoder_places_in_bytes(const char *text, size_t n, uint32_t *begins, uint32_t *ends,
                             size_t count)
{
    struct ids bytes = { 0 }; /* where each code point begins, and the text's end */
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)text[i] & 0xC0) != 0x80)
            ids_add(&bytes, (uint32_t)i);
    ids_add(&bytes, (uint32_t)n);
    for (size_t i = 0; i < count; i++) {
        begins[i] = bytes.data[begins[i]];
        ends[i] = bytes.data[ends[i]];
    }
    ids_release(&bytes);
}

uint64_t encoder_replaced(const struct encoder *e)
{
    return e->replaced;
}

size_t encoder_repair(struct buf *out, const char *text, size_t n)
{
    return utf8_repair(out, text, n);
}
