#include "tokenizer/model/subword.h"

#include "common/base/utf8.h"
#include "tokenizer/model/alphabet.h"
#include "tokenizer/model/vocabulary.h"
#include "tokenizer/model/wordpiece.h"

enum { CHARACTERS = 0x10000, TOGETHER = 256, IDS_KEPT = 1 << 20 };
#define NO_ID UINT32_MAX

struct subword {
    const struct vocabulary *v;
    struct bpe *bpe; /* at most one of these three is not NULL */
    struct wordpiece *wordpiece;
    struct unigram *unigram;
    int bytes;             /* 1: encoding begins with the tokens of single bytes */
    int64_t fallback[256]; /* ids of <0x00> ... <0xFF>, -1 for none */
    uint32_t *characters;  /* ids of characters below CHARACTERS, or NO_ID; NULL: no table */
};

static int64_t find_token(const struct vocabulary *v, const char *bytes, size_t n)
{
    int64_t id = vocabulary_find(v, bytes, n);
    return id >= 0 && v->tokens[id].in_model ? id : -1;
}

static void keep_characters(struct subword *s)
{
    const struct vocabulary *v = s->v;
    s->characters = memset(mem_alloc(CHARACTERS * sizeof *s->characters), 0xFF,
                           CHARACTERS * sizeof *s->characters);
    for (uint32_t id = 0; id < v->count; id++) {
        size_t n, len;
        const unsigned char *bytes = (const unsigned char *)vocabulary_bytes(v, id, &n);
        if (!bytes || !n || n > 3 || utf8_valid((const char *)bytes, n) != n)
            continue;
        uint32_t c = utf8_get(bytes, &len);
        int64_t found = len == n ? find_token(v, (const char *)bytes, n) : -1;
        if (found >= 0)
            s->characters[c] = (uint32_t)found;
    }
}

struct subword *subword_new(const struct vocabulary *v)
{
    struct subword *s = mem_zalloc(1, sizeof *s);
    int64_t byte_ids[256];
    s->v = v;
    if (v->model == VOCABULARY_WORDPIECE) {
        s->wordpiece = wordpiece_new(v, (uint32_t)v->roles[TOKENIZER_UNKNOWN], v->max_chars);
        return s;
    }
    if (v->model == VOCABULARY_UNIGRAM)
        s->unigram = unigram_new(v);
    if (v->model != VOCABULARY_BPE)
        return s;
    vocabulary_fallback_ids(v, s->fallback);
    vocabulary_byte_ids(v, byte_ids);
    for (int b = 0; b < 256; b++)
        byte_ids[b] = !v->byte_level    ? -1
                      : byte_ids[b] < 0 ? v->roles[TOKENIZER_UNKNOWN]
                                        : byte_ids[b];
    s->bpe = bpe_new(byte_ids, v->merges, v->merge_count, v->drops);
    s->bytes = v->byte_level && !*v->prefix && !*v->suffix;
    if (!v->byte_level && !*v->prefix && !*v->suffix)
        keep_characters(s);
    return s;
}

void subword_free(struct subword *s)
{
    if (!s)
        return;
    bpe_free(s->bpe);
    wordpiece_free(s->wordpiece);
    unigram_free(s->unigram);
    free(s->characters);
    free(s);
}

void subword_scratch_release(struct subword_scratch *s)
{
    bpe_scratch_release(&s->bpe);
    unigram_scratch_release(&s->unigram);
    ids_release(&s->ids);
    ids_release(&s->merged);
    buf_release(&s->name);
}

/* ---- BPE over characters --------------------------------------------------------------------- */

static void put(struct subword_scratch *scratch, int64_t id, size_t width, struct ids *widths)
{
    ids_add(&scratch->ids, (uint32_t)id);
    if (widths)
        ids_add(widths, (uint32_t)width);
}

/* Appends the tokens of the bytes of scratch->name, which holds a character of `len` bytes after a
 * prefix of `before` bytes; prefix and suffix have no width. Returns 1, or 0 if one of the tokens
 * is missing; then appends nothing. */
static int fall_back(const struct subword *s, struct subword_scratch *scratch, size_t before,
                     size_t len, struct ids *widths)
{
    const struct buf *name = &scratch->name;
    for (size_t i = 0; i < name->len; i++)
        if (s->fallback[(unsigned char)name->data[i]] < 0)
            return 0;
    for (size_t i = 0; i < name->len; i++)
        put(scratch, s->fallback[(unsigned char)name->data[i]], i - before < len, widths);
    return 1;
}

/* Appends the tokens of the piece's characters, or of its bytes if tokens are byte strings, to
 * scratch->ids. Unless `widths` is NULL, appends the number of bytes of each to it; if tokens are
 * byte strings, bytes count as in the byte alphabet. With fuse_unknown, a run of unknown characters
 * becomes one unknown token, so this token is written only when a known character or the end
 * follows. Byte tokens do not end such a run, as in Hugging Face's BPE. */
static void put_characters(const struct subword *s, struct subword_scratch *scratch,
                           const char *piece, size_t n, struct ids *widths)
{
    const struct vocabulary *v = s->v;
    int64_t unknown = v->roles[TOKENIZER_UNKNOWN];
    size_t len, waiting = 0; /* bytes of unknown characters that have no token yet */
    if (!scratch->name.data)
        buf_init(&scratch->name);
    for (size_t i = 0; i < n; i += len) {
        uint32_t c = 0;
        len = 1;
        if (!v->byte_level)
            c = utf8_get((const unsigned char *)piece + i, &len);
        if (s->characters && !waiting && c < CHARACTERS && s->characters[c] != NO_ID) {
            put(scratch, s->characters[c], len, widths);
            continue;
        }
        buf_clear(&scratch->name);
        if (i)
            buf_adds(&scratch->name, v->prefix);
        const size_t before = scratch->name.len;
        buf_add(&scratch->name, piece + i, len);
        if (i + len == n)
            buf_adds(&scratch->name, v->suffix);
        int64_t id = find_token(v, scratch->name.data, scratch->name.len);
        if (id < 0 && v->byte_fallback && fall_back(s, scratch, before, len, widths))
            continue;
        if (id < 0 && unknown < 0)
            continue;
        if (waiting && (id >= 0 || !v->fuse_unknown)) {
            put(scratch, unknown, waiting, widths);
            waiting = 0;
        }
        const size_t width = v->byte_level ? alphabet_width(piece + i, 1) : len;
        if (id >= 0)
            put(scratch, id, width, widths);
        else
            waiting += width;
    }
    if (waiting)
        put(scratch, unknown, waiting, widths);
}

void subword_widths(const struct subword *s, struct subword_scratch *scratch, const char *piece,
                    size_t n, const uint32_t *ids, size_t count, struct ids *out)
{
    struct ids *parts = &scratch->ids, *widths = &scratch->merged;
    size_t len, more, k = 0;
    if (s->v->ignore_merges && find_token(s->v, piece, n) >= 0) {
        ids_add(out, (uint32_t)(s->v->byte_level ? alphabet_width(piece, n) : n));
        return;
    }
    parts->count = widths->count = 0;
    put_characters(s, scratch, piece, n, widths);
    for (size_t i = 0; i < count; i++) {
        uint32_t width = 0;
        const size_t first = k;
        size_t made = 0; /* bytes of the parts' names, joined */
        vocabulary_bytes(s->v, ids[i], &len);
        for (; k < parts->count && (k == first || made < len); k++) {
            vocabulary_bytes(s->v, parts->data[k], &more);
            made += more - (made ? strlen(s->v->prefix) : 0);
            width += widths->data[k];
        }
        ids_add(out, width);
    }
}

static int put_word(const struct vocabulary *v, const char *word, size_t n, struct ids *out)
{
    int64_t id = find_token(v, word, n);
    id = id < 0 ? v->roles[TOKENIZER_UNKNOWN] : id;
    if (id < 0)
        return err_set("the vocabulary has no token for '%.*s', and none for what is unknown",
                       (int)utf8_valid(word, n < 16 ? n : 16), word);
    ids_add(out, (uint32_t)id);
    return 0;
}

/* Appends the ids of at most TOGETHER pieces to `out`, by BPE. The pieces are merged in turns. With
 * ignore_merges a piece that is a token gets its id. Returns 0, or -1 with an error. */
static int encode_pairs(const struct subword *s, struct subword_scratch *scratch,
                        const struct pieces *p, struct ids *out, size_t *ends)
{
    size_t list_ends[TOGETHER], made[TOGETHER], lists = 0;
    uint32_t known[TOGETHER];
    struct ids *ids = &scratch->ids, *merged = &scratch->merged;
    if (s->v->ignore_merges)
        vocabulary_find_all(s->v, p, known);
    ids->count = merged->count = 0;
    for (size_t i = 0; i < p->count; i++) {
        const char *piece = p->text + p->begins[i];
        size_t n = p->ends[i] - p->begins[i];
        if (s->v->ignore_merges && known[i] != NO_ID && s->v->tokens[known[i]].in_model)
            continue;
        known[i] = NO_ID;
        if (n >= NO_ID)
            return err_set("the text has a piece of %zu bytes that cannot be split: too long", n);
        if (!s->bytes)
            put_characters(s, scratch, piece, n, NULL);
        else if (bpe_begin(s->bpe, piece, n, ids) < 0)
            return -1;
        list_ends[lists++] = ids->count;
    }
    bpe_merge(s->bpe, &scratch->bpe, ids->data, list_ends, lists, merged, made);
    if (ids->cap > IDS_KEPT)
        ids_release(ids);
    for (size_t i = 0, k = 0, at = 0; i < p->count; ends[i++] = out->count) {
        if (known[i] != NO_ID) {
            ids_add(out, known[i]);
            continue;
        }
        ids_append(out, merged->data + at, made[k] - at);
        at = made[k++];
    }
    return 0;
}

int subword_encode_all(const struct subword *s, struct subword_scratch *scratch,
                       const struct pieces *p, struct ids *out, size_t *ends)
{
    for (size_t i = 0; i < p->count && s->bpe; i += TOGETHER) {
        struct pieces some = pieces_of(p, i, p->count - i < TOGETHER ? p->count : i + TOGETHER);
        if (encode_pairs(s, scratch, &some, out, ends + i) < 0)
            return -1;
    }
    for (size_t i = 0; i < p->count && !s->bpe; ends[i++] = out->count)
        if (subword_encode(s, scratch, p->text + p->begins[i], p->ends[i] - p->begins[i], out) < 0)
            return -1;
    return 0;
}

int subword_encode(const struct subword *s, struct subword_scratch *scratch, const char *piece,
                   size_t n, struct ids *out)
{
    size_t begin = 0, end;
    if (s->bpe)
        return encode_pairs(s, scratch, &(struct pieces){ piece, n, &begin, &n, 1, NULL }, out,
                            &end);
    if (s->unigram)
        return unigram_encode(s->unigram, &scratch->unigram, piece, n, out);
    if (!s->wordpiece)
        return put_word(s->v, piece, n, out);
    wordpiece_encode(s->wordpiece, piece, n, out);
    return 0;
}

const struct unigram *subword_unigram(const struct subword *s)
{
    return s->unigram;
}
