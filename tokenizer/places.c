/* Ranges of tokens in the text, for encoder_encode_places of tokenizer.h. */

#include "common/base/utf8.h"
#include "tokenizer/cut/origins.h"
#include "tokenizer/cut/steps.h"
#include "tokenizer/model/alphabet.h"
#include "tokenizer/model/wordcache.h"
#include "tokenizer/model/wordpiece.h"
#include "tokenizer/parts.h"
#include "tokenizer/tokenizer.h"
#include "unicode/unicode.h"

static uint32_t count_spaces(const char *bytes, size_t n, int from_the_end)
{
    uint32_t i = 0;
    while (i < n && bytes[from_the_end ? n - 1 - i : i] == ' ')
        i++;
    return i;
}

/* Returns the number of white space characters at the beginning of text[0..n) or, with from_the_end
 * 1, at its end. U+0120, which stands for a space in the byte alphabet, counts as white space. */
static uint32_t count_blanks(const char *text, size_t n, int from_the_end)
{
    uint32_t blanks = 0, run = 0;
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t c = utf8_get((const unsigned char *)text + i, &len);
        int is = unicode_is(c, UNICODE_IS_SPACE) || c == alphabet_char(' ');
        if (!is && !from_the_end)
            return blanks;
        blanks++;
        run = is ? run + 1 : 0;
    }
    return from_the_end ? run : blanks;
}

/* Moves *begin past the spaces at a token's start and *end before those at its end, as Hugging
 * Face's ByteLevel does. They are counted in spelling[0..n): if is_text is 1, all white space of
 * Unicode, else spaces of the byte alphabet. `first` 1: the token is the first of the text. */
static void trim_place(const struct encoder *e, int first, const char *spelling, size_t n,
                       int is_text, uint32_t *begin, uint32_t *end)
{
    const struct vocabulary *v = &e->t->v;
    uint32_t (*const count)(const char *text, size_t n, int from_the_end) = is_text ? count_blanks
                                                                                    : count_spaces;
    if (!v->trims_places)
        return;
    uint32_t left = count(spelling, n, 0), right = count(spelling, n, 1);
    left = left == 1 && (first || !*begin) && v->keeps_first_space ? 0 : left;
    *begin = *begin + left < *end ? *begin + left : *end;
    if (right <= *end)
        *end = *end - right > *begin ? *end - right : *begin;
}

/* Appends to out->begins and out->ends the range of a token that covers n bytes at `text`; `points`
 * characters begin before them. The range is the one that Hugging Face's ByteLevel reports: A token
 * that is part of a character has the range of the whole character. A space that was added before
 * the text belongs to the first character. Spaces at a token's sides may be left out. */
static void put_place(const struct encoder *e, uint32_t id, uint32_t points, const char *text,
                      size_t n, struct placed *out)
{
    uint32_t begin = points - (n && (text[0] & 0xC0) == 0x80),
             end = points + (uint32_t)utf8_count(text, n);
    size_t len;
    const char *bytes = tokenizer_token(e->t, id, &len);
    end += !n;
    trim_place(e, !begin, bytes, len, 0, &begin, &end);
    ids_add(&out->begins, begin);
    ids_add(&out->ends, end);
}

/* For a text whose tokens, joined, have exactly its bytes: appends them and their ranges to `out`.
 * Returns 0, or -1 with an error. */
static int encode_tiles(struct encoder *e, const char *text, size_t n, struct placed *out)
{
    size_t i = out->ids.count, len, at = 0, in_front = e->t->v.prefix_space && n && text[0] != ' ';
    uint32_t points = 0;
    if (encoder_encode(e, text, n, TOKENIZER_ORDINARY, &out->ids) < 0)
        return -1;
    for (; i < out->ids.count; i++) {
        tokenizer_token(e->t, out->ids.data[i], &len);
        len -= in_front;
        in_front = 0;
        if (len > n - at)
            return err_set(
                "cannot find the offsets of the tokens in the text: one of them removes spaces");
        put_place(e, out->ids.data[i], points, text + at, len, out);
        points += (uint32_t)utf8_count(text + at, len);
        at += len;
    }
    return 0;
}

/* ---- places after steps ---------------------------------------------------------------------- */

/* A text whose tokens are being found, with their places. */
struct placing {
    int special;      /* spellings of special tokens become their ids */
    uint32_t *points; /* for each byte of the text, the number of its character */
    struct placed *out;
    size_t before;         /* number of ids before those of this text */
    size_t section;        /* where the section that is encoded now begins in the text */
    struct ids normalized; /* the origin of each byte of the normalized section */
    struct ids cut;        /* the origin of each byte of the text that was made of the normalized
                            * section and cut into pieces */
    struct ids widths;     /* of a piece's tokens: bytes for which they stand */
    struct ids spelled;    /* the origin of each byte of a piece's spelling in the byte alphabet */
};

/* Appends the token `id` and its range. It covers the bytes [from, to) of a text that was made of
 * the section; `origins` are those of this text's bytes. Spaces at the token's sides are counted in
 * `spelled`, which is this text; if `spelled` is NULL, in the token's own spelling. */
static void place(const struct encoder *e, struct placing *p, uint32_t id, const uint32_t *origins,
                  size_t from, size_t to, const char *spelled)
{
    uint32_t first = origins[from], last = origins[to - 1], none = (uint32_t)ORIGINS_NONE;
    uint32_t begin = p->points[p->section + (first == none ? 0 : first)];
    uint32_t end = last == none ? p->points[p->section] : p->points[p->section + last] + 1;
    size_t len = to - from;
    const char *bytes = spelled ? spelled + from : tokenizer_token(e->t, id, &len);
    trim_place(e, p->out->ids.count == p->before, bytes, len, spelled || !e->t->v.byte_level,
               &begin, &end);
    ids_add(&p->out->ids, id);
    ids_add(&p->out->begins, begin);
    ids_add(&p->out->ends, end);
}

static int begins_with(const struct encoder *e, uint32_t id, const char *text, size_t n)
{
    size_t len;
    const char *bytes = tokenizer_token(e->t, id, &len);
    return bytes && len <= n && !memcmp(bytes, text, len);
}

/* Returns the number of bytes of text[0..n) that Unigram's unknown token stands for: up to the
 * token `next`, or all of them if this is NULL. A spelling of the unknown token is one of its
 * characters, unless it is hidden. */
static size_t unknown_length(const struct encoder *e, const char *text, size_t n,
                             const uint32_t *next)
{
    const uint32_t unknown = (uint32_t)e->t->v.roles[TOKENIZER_UNKNOWN];
    size_t end = 0;
    for (size_t len; end < n; end += len) {
        const int spelled = !e->t->v.hides && begins_with(e, unknown, text + end, n - end);
        if (end && !spelled && next && begins_with(e, *next, text + end, n - end))
            break;
        utf8_get((const unsigned char *)text + end, &len);
        if (spelled)
            tokenizer_token(e->t, unknown, &len);
    }
    return end;
}

/* Returns how many ids, from the first on, are byte tokens, such as <0x0A>, of the first bytes of
 * text[0..n), one for each byte. */
static size_t count_byte_tokens(const struct encoder *e, const uint32_t *ids, size_t count,
                                const char *text, size_t n)
{
    size_t k = 0, len;
    for (; k < count && k < n && e->t->v.byte_fallback; k++) {
        const char *name = tokenizer_token(e->t, ids[k], &len);
        if (alphabet_named(name, len) != (unsigned char)text[k])
            break;
    }
    return k;
}

/* Appends the tokens of a piece that Unigram encoded. Byte tokens of an unknown character get the
 * character's range. */
static void place_unigram(const struct encoder *e, struct placing *p, const uint32_t *ids,
                          size_t count, const char *text, size_t n, const uint32_t *origins)
{
    for (size_t i = 0, at = 0, len; i < count && at < n; at += len) {
        size_t bytes = len = count_byte_tokens(e, ids + i, count - i, text + at, n - at);
        for (size_t k = 0; k < bytes; k++)
            place(e, p, ids[i++], origins, at, at + len, NULL);
        if (bytes)
            continue;
        tokenizer_token(e->t, ids[i], &len);
        if (ids[i] == e->t->v.roles[TOKENIZER_UNKNOWN])
            len = unknown_length(e, text + at, n - at, i + 1 < count ? ids + i + 1 : NULL);
        len = len && len <= n - at ? len : n - at;
        place(e, p, ids[i++], origins, at, at + len, text);
    }
}

/* Sets p->widths to the lengths of the tokens' spellings, without prefix and suffix. Returns 1 if
 * the tokens are sure to stand for the piece's n bytes one after another, else 0. */
static int find_tiles(const struct encoder *e, struct placing *p, const uint32_t *ids, size_t count,
                      size_t n)
{
    const struct vocabulary *v = &e->t->v;
    const int64_t unknown = v->roles[TOKENIZER_UNKNOWN];
    size_t len = 0, all = 0;
    int sure = unknown >= 0 || (!*v->prefix && !v->byte_fallback);
    p->widths.count = 0;
    for (size_t i = 0; i < count; i++) {
        tokenizer_token(e->t, ids[i], &len);
        const size_t affixes = (i ? strlen(v->prefix) : 0) +
                               (i + 1 == count ? strlen(v->suffix) : 0);
        sure &= ids[i] != unknown && len >= affixes;
        len -= affixes;
        all += len;
        ids_add(&p->widths, (uint32_t)len);
    }
    return sure && all == n;
}

/* Appends the tokens of a piece that BPE encoded. As in Hugging Face's BPE, they follow one another
 * without gaps. So after a character that was dropped, their ranges lie before their real ones. If
 * tokens are byte strings, this holds for the piece's spelling in the byte alphabet. */
static void place_pairs(struct encoder *e, struct placing *p, const uint32_t *ids, size_t count,
                        const char *text, size_t n, const uint32_t *origins)
{
    if (!find_tiles(e, p, ids, count, n)) {
        p->spelled.count = p->widths.count = 0;
        subword_widths(e->t->subword, &e->scratch, text, n, ids, count, &p->widths);
        for (size_t i = 0; i < n && e->t->v.byte_level; i++)
            for (size_t k = alphabet_width(text + i, 1); k; k--)
                ids_add(&p->spelled, origins[i]);
        if (e->t->v.byte_level)
            origins = p->spelled.data;
    }
    for (size_t i = 0, at = 0; i < count; at += p->widths.data[i++]) {
        const size_t width = p->widths.data[i], from = width || !at ? at : at - 1;
        place(e, p, ids[i], origins, from, from + width + !width, NULL);
    }
}

/* Appends the tokens of a word that WordPiece or WordLevel encoded. An only token, which may be the
 * unknown one, covers the word. */
static void place_word(const struct encoder *e, struct placing *p, const uint32_t *ids,
                       size_t count, size_t n, const uint32_t *origins)
{
    for (size_t i = 0, at = 0, len = n; i < count; i++, at += len) {
        if (count > 1)
            tokenizer_token(e->t, ids[i], &len);
        len -= i ? strlen(wordpiece_prefix) : 0;
        place(e, p, ids[i], origins, at, at + len, NULL);
    }
}

/* Appends the tokens ids[0..count) of *piece, and their ranges. `origins` are of its bytes. */
static void place_piece(struct encoder *e, struct placing *p, const uint32_t *ids, size_t count,
                        const struct pieces *piece, const uint32_t *origins)
{
    const char *text = piece->text + *piece->begins;
    const size_t n = *piece->ends - *piece->begins;
    if (e->t->v.model == VOCABULARY_BPE)
        place_pairs(e, p, ids, count, text, n, origins);
    else if (e->t->v.model == VOCABULARY_UNIGRAM)
        place_unigram(e, p, ids, count, text, n, origins);
    else
        place_word(e, p, ids, count, n, origins);
}

/* Sets p->cut to the origins of the bytes of the words that BERT's rules make of text[0..n). This
 * works because a character normalizes to the same number of bytes alone as among others. */
static void find_sources(struct encoder *e, struct placing *p, const char *text, size_t n)
{
    struct pieces words;
    p->cut.count = 0;
    if (!e->letters)
        e->letters = words_new(e->t->normalizer);
    for (size_t i = 0, len; i < n; i += len) {
        utf8_get((const unsigned char *)text + i, &len);
        if (text[i] > ' ' && text[i] < 0x7F) { /* this character stays one byte */
            ids_add(&p->cut, (uint32_t)i);
            continue;
        }
        words_begin(e->letters, text + i, len);
        while (words_next(e->letters, &words))
            for (size_t k = 0; k < words.count; k++)
                for (size_t b = words.begins[k]; b < words.ends[k]; b++)
                    ids_add(&p->cut, (uint32_t)i);
    }
}

/* Returns the origins of the text that encoder_cut makes of the n normalized bytes, whose origins
 * are `origins`. They are in p->cut if the two texts differ. */
static const uint32_t *cut_origins(struct encoder *e, struct placing *p, const char *text, size_t n,
                                   const uint32_t *origins)
{
    const struct ids *made = e->t->v.steps_cut ? stepper_origins(e->stepper) : NULL;
    size_t more = !e->t->v.steps_cut && e->tiles.readable > n; /* a space in front */
    if (e->words)
        find_sources(e, p, text, n);
    if (e->words || (!made && !more))
        return e->words ? p->cut.data : origins;
    p->cut.count = 0;
    for (size_t i = 0; i < (made ? made->count : n + more); i++)
        ids_add(&p->cut, origins[made ? made->data[i] : i - (more && i)]);
    return p->cut.data;
}

/* Encodes normalized text without added tokens into *p, with the places of the tokens. `first` is
 * as for encoder_cut. Returns 0, or -1 with an error. */
static int place_plain(struct encoder *e, struct placing *p, const char *text, size_t n, int first,
                       const uint32_t *origins)
{
    struct pieces all;
    SCOPED(ids) ids = { 0 };
    size_t at = 0; /* bytes of the pieces so far */
    int got = encoder_cut(e, text, n, first) < 0 ? -1 : 1;
    if (got > 0)
        origins = cut_origins(e, p, text, n, origins);
    while (got > 0 && (got = encoder_next(e, &all)) > 0)
        for (size_t i = 0; i < all.count && got > 0; i++) {
            const struct pieces piece = pieces_of(&all, i, i + 1);
            ids.count = 0;
            if (encoder_put(e, &piece, &ids) < 0)
                got = -1;
            else
                place_piece(e, p, ids.data, ids.count, &piece,
                            origins + (e->words ? at : *piece.begins));
            at += *piece.ends - *piece.begins;
        }
    return got;
}

/* Encodes a text into *p, with the places of the tokens, in the passes of encoder.c: pass 0 and 1
 * find added tokens, pass 1 begins a section and normalizes it. Returns 0, or -1 with an error. */
static int place_pass(struct encoder *e, struct placing *p, const char *text, size_t n, int pass,
                      int first, const uint32_t *origins)
{
    if (pass == 2)
        return place_plain(e, p, text, n, first, origins);
    if (pass == 1) {
        p->section = *origins;
        if (encoder_normalize(e, &text, &n, &first, &p->normalized) < 0)
            return -1;
        origins = p->normalized.data;
    }
    struct added_walk w = { .text = text, .n = n };
    while (added_next(&e->t->added[pass], &w, p->special)) {
        if (w.done < w.begin && place_pass(e, p, text + w.done, w.begin - w.done, pass + 1,
                                           first && !w.done, origins + w.done) < 0)
            return -1;
        p->section = pass ? p->section : 0;
        place(e, p, w.id, origins, w.begin, w.end, text);
        w.done = w.end;
    }
    return w.done < n ? place_pass(e, p, text + w.done, n - w.done, pass + 1, first && !w.done,
                                   origins + w.done)
                      : 0;
}

/* Encodes a text with the steps of its normalizer and pre-tokenizer: appends the tokens and their
 * ranges to `out`. The ranges follow from where each byte came from (origins.h). Returns 0, or -1
 * with an error. */
static int encode_traced(struct encoder *e, const char *text, size_t n,
                         enum tokenizer_special special, struct placed *out)
{
    struct placing p = { .special = special == TOKENIZER_SPECIAL,
                         .out = out,
                         .before = out->ids.count };
    SCOPED(ids) own = { 0 };
    uint32_t point = 0;
    ids_add_range(&own, 0, n);
    p.points = mem_alloc((n + 1) * sizeof *p.points);
    for (size_t i = 0; i < n; i++)
        p.points[i] = point += i && (text[i] & 0xC0) != 0x80;
    p.points[n] = point + 1;
    if (e->stepper)
        stepper_keep_origins(e->stepper, origins_follow);
    int result = place_pass(e, &p, text, n, 0, 1, own.data);
    if (e->stepper)
        stepper_keep_origins(e->stepper, NULL);
    free(p.points);
    ids_release(&p.normalized);
    ids_release(&p.cut);
    ids_release(&p.widths);
    ids_release(&p.spelled);
    return result;
}

int encoder_encode_places(struct encoder *e, const char *text, size_t n,
                          enum tokenizer_special special, struct placed *out)
{
    if (n > WORDS_MAX || utf8_valid(text, n) != n)
        return err_set("a text of %zu bytes is too long or not UTF-8", n);
    const struct added_set *a = e->t->added; /* if not all are special, ordinary text has some */
    const int added = (a[0].count && !a[0].all_special) || (a[1].count && !a[1].all_special);
    return special == TOKENIZER_SPECIAL || added || e->t->v.drops || !tokenizer_tiles(e->t)
               ? encode_traced(e, text, n, special, out)
               : encode_tiles(e, text, n, out);
}

void encoder_places_in_bytes(const char *text, size_t n, struct placed *p, size_t first)
{
    SCOPED(ids) bytes = { 0 }; /* where each code point begins, and the text's end */
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)text[i] & 0xC0) != 0x80)
            ids_add(&bytes, (uint32_t)i);
    ids_add(&bytes, (uint32_t)n);
    for (size_t i = first; i < p->ids.count; i++) {
        p->begins.data[i] = bytes.data[p->begins.data[i]];
        p->ends.data[i] = bytes.data[p->ends.data[i]];
    }
}
