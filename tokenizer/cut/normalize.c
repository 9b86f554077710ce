#include "tokenizer/cut/normalize.h"

#include "common/base/utf8.h"
#include "tokenizer/cut/ascii.h"
#include "unicode/forms.h"
#include "unicode/letter_case.h"
#include "unicode/unicode.h"

/* What a code point becomes. A table entry has the kind in its lowest bits and, above it, a number
 * that is described beside each kind. */
enum kind {
    KEEP,      /* part of a word, as it is */
    DROP,      /* nothing; number 1: it stops the reordering of the marks beside it */
    SPACE,     /* ends a word */
    ALONE,     /* a word by itself */
    MAP,       /* part of a word, as other bytes: (position in blob << 8) | length */
    MAP_ALONE, /* a word by itself, as other bytes: number as for MAP */
    MARK,      /* part of a word, sorted among other marks: combining class */
    SIGMA,     /* a capital sigma whose lower case depends on its neighbours */
    KIND_BITS = 3,
    KIND_MASK = (1 << KIND_BITS) - 1,
};

struct normalizer {
    struct bert_rules rules;
    uint32_t *table; /* one entry per code point */
    struct buf blob;
};

enum {
    CAPITAL_SIGMA = 0x3A3,
    DIVES_AKURU_O = 0x11938, /* not in Hugging Face's older decomposition tables */
    DIVES_AKURU_A = 0x11935,
    DIVES_AKURU_AI = 0x11930,
};

/* ---- the table ------------------------------------------------------------------------------- */

static void put_set(struct normalizer *n, unsigned sets, uint32_t entry)
{
    for (uint32_t c = 0; (c = unicode_next(sets, c)) < UNICODE_LIMIT; c++)
        n->table[c] = entry;
}

/* Returns 1 if Hugging Face's rules make this character a word by itself, else 0. */
static int is_chinese_here(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } hf[] = {
        { 0x3400, 0x4DBF },   { 0x4E00, 0x9FFF },   { 0xF900, 0xFAFF },   { 0x20000, 0x2A6DF },
        { 0x2A700, 0x2B73F }, { 0x2B740, 0x2B81F }, { 0x2B920, 0x2CEAF }, { 0x2F800, 0x2FA1F },
    };
    for (size_t i = 0; i < sizeof hf / sizeof *hf && hf[i].first <= c; i++)
        if (c <= hf[i].last)
            return 1;
    return 0;
}

static int is_chinese(const struct normalizer *n, uint32_t c)
{
    int google = n->rules.google && c >= 0x2B820 && c < 0x2B920;
    return n->rules.chinese_chars && (google || is_chinese_here(c));
}

static uint32_t lower_of(const struct normalizer *n, uint32_t c)
{
    if (!n->rules.lowercase)
        return c;
    if (c == LETTER_CASE_DOTTED_I)
        return 'i'; /* its dot is a mark, which is dropped */
    return n->rules.google ? letter_case_lower(c) : letter_case_lower_new(c);
}

/* Sets parts[] to c, or if accents are stripped, to its canonical decomposition. Returns the number
 * of parts. */
static size_t decompose(const struct normalizer *n, uint32_t c, uint32_t parts[FORMS_PARTS_MAX])
{
    parts[0] = c;
    if (!n->rules.strip_accents)
        return 1;
    if (c == DIVES_AKURU_O && n->rules.google) {
        parts[0] = DIVES_AKURU_A;
        parts[1] = DIVES_AKURU_AI;
        return 2;
    }
    return forms_decompose(parts, c, 0);
}

/* Sets the entry of a code point that is decomposed or becomes lower case. Marks, punctuation and
 * white space are in the table already. */
static void put_mapped(struct normalizer *n, uint32_t c)
{
    uint32_t parts[FORMS_PARTS_MAX], last = c;
    size_t at = n->blob.len;
    int kept = 0, chinese = is_chinese(n, c);
    size_t found = decompose(n, n->rules.google ? lower_of(n, c) : c, parts);
    for (size_t i = 0; i < found; i++) {
        if ((n->table[parts[i]] & KIND_MASK) == DROP)
            continue;
        last = n->rules.google ? parts[i] : lower_of(n, parts[i]);
        utf8_add(&n->blob, last);
        kept++;
    }
    uint32_t entry = (uint32_t)(at << 8 | (n->blob.len - at));
    uint32_t kind = kept == 1 ? n->table[last] & KIND_MASK : kept ? KEEP : DROP;
    if (kind == SPACE || kind == DROP)
        n->table[c] = kind;
    else if (kept == 1 && last == c)
        buf_truncate(&n->blob, at);
    else
        n->table[c] = entry << KIND_BITS | (kind == ALONE || chinese ? MAP_ALONE : MAP);
}

static void put_decomposed(struct normalizer *n)
{
    for (size_t i = 0; i < forms_canonical_count; i++)
        for (uint32_t k = 0; k < forms_canonical[i].count; k++)
            put_mapped(n, forms_canonical[i].first + k);
    for (uint32_t i = 0; i < FORMS_HANGUL_COUNT; i++)
        put_mapped(n, FORMS_HANGUL + i);
    if (n->rules.google)
        put_mapped(n, DIVES_AKURU_O);
}

static void put_lowered(struct normalizer *n, const struct letter_case_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < runs[i].count; k++)
            put_mapped(n, runs[i].first + k * runs[i].step);
}

static void put_maps(struct normalizer *n)
{
    if (n->rules.strip_accents)
        put_decomposed(n);
    if (!n->rules.lowercase)
        return;
    put_lowered(n, letter_case_lowers, letter_case_lowers_count);
    put_lowered(n, letter_case_laters, letter_case_laters_count);
    if (!n->rules.strip_accents) {
        static const char dotted[] = "i\xCC\x87";
        n->table[LETTER_CASE_DOTTED_I] = (uint32_t)(n->blob.len << 8 | 3) << KIND_BITS | MAP;
        buf_adds(&n->blob, dotted);
    }
    if (n->rules.google)
        n->table[CAPITAL_SIGMA] = SIGMA;
}

static void put_marks(struct normalizer *n)
{
    const int google = n->rules.google;
    put_set(n, google ? UNICODE_IS_GOOGLE_NON_SPACING : UNICODE_IS_NON_SPACING,
            1 << KIND_BITS | DROP);
    for (uint32_t c = 0; (c = unicode_next(UNICODE_IS_COMBINING, c)) < UNICODE_LIMIT; c++) {
        const struct unicode_record *r = unicode_of(c);
        const uint32_t class = google ? r->google_combining : r->combining;
        if (class)
            n->table[c] = (n->table[c] & KIND_MASK) == DROP ? DROP : class << KIND_BITS | MARK;
    }
}

struct normalizer *normalizer_new(const struct bert_rules *rules)
{
    struct normalizer *n = mem_zalloc(1, sizeof *n);
    n->rules = *rules;
    n->table = mem_zalloc(UNICODE_LIMIT, sizeof *n->table);
    buf_init(&n->blob);
    put_set(n, rules->google ? UNICODE_IS_GOOGLE_PUNCTUATION : UNICODE_IS_PUNCTUATION, ALONE);
    put_set(n, UNICODE_IS_SPACE, SPACE);
    if (rules->strip_accents)
        put_marks(n);
    for (uint32_t c = 0; c < UNICODE_LIMIT; c++)
        if (c >= 0x3400 && is_chinese(n, c))
            n->table[c] = ALONE;
    put_maps(n);
    if (rules->clean_text)
        put_set(n, rules->google ? UNICODE_IS_GOOGLE_CONTROL : UNICODE_IS_CONTROL, DROP);
    return n;
}

void normalizer_free(struct normalizer *n)
{
    if (!n)
        return;
    free(n->table);
    buf_release(&n->blob);
    free(n);
}

/* ---- iteration over words -------------------------------------------------------------------- */

enum { CHUNK_BYTES = 1 << 12, GROWTH = 4, SLACK_BYTES = 64 };

struct mark {
    uint32_t at, class;
};

struct words {
    const struct normalizer *n;
    const unsigned char *text;
    size_t at, size;
    struct buf out; /* the words of the chunk, after the unfinished one of the chunk before */
    size_t *begins, *ends;
    size_t begun, ended, begins_cap, ends_cap; /* begun == ended + 1 inside a word */
    struct mark *marks;                        /* the marks at the end of the output */
    size_t mark_count, marks_cap, marks_end;
};

struct words *words_new(const struct normalizer *n)
{
    struct words *w = mem_zalloc(1, sizeof *w);
    w->n = n;
    buf_init(&w->out);
    return w;
}

void words_free(struct words *w)
{
    if (!w)
        return;
    buf_release(&w->out);
    free(w->begins);
    free(w->ends);
    free(w->marks);
    free(w);
}

void words_begin(struct words *w, const char *text, size_t n)
{
    w->text = (const unsigned char *)text;
    w->at = 0;
    w->size = n;
    w->begun = w->ended = 0;
    w->mark_count = 0;
    buf_clear(&w->out);
}

static inline void end_word(struct words *w)
{
    if (w->begun > w->ended)
        w->ends[w->ended++] = w->out.len;
}

static inline void put_part(struct words *w, const void *bytes, size_t n)
{
    if (w->begun == w->ended)
        w->begins[w->begun++] = w->out.len;
    memcpy(w->out.data + w->out.len, bytes, n);
    w->out.len += n;
}

enum { SORTED_MAX = 1 << 12 };

/* Appends a mark and sorts it among the marks before it, by combining class; equal classes keep
 * their order (Unicode standard, section 3.11, canonical ordering). After SORTED_MAX marks in a row
 * it stays where it is, as sorting takes quadratic time: so long a word is unknown anyway. */
static void put_mark(struct words *w, const unsigned char *bytes, size_t n, uint32_t class)
{
    if (w->marks_end != w->out.len)
        w->mark_count = 0;
    mem_grow(w->marks, w->marks_cap, w->mark_count + 1);
    size_t k = w->mark_count++, at = w->out.len;
    put_part(w, bytes, n);
    for (; k && k < SORTED_MAX && w->marks[k - 1].class > class; k--) {
        at = w->marks[k - 1].at;
        w->marks[k] = (struct mark){ (uint32_t)(at + n), w->marks[k - 1].class };
    }
    w->marks[k] = (struct mark){ (uint32_t)at, class };
    memmove(w->out.data + at + n, w->out.data + at, w->out.len - n - at);
    memcpy(w->out.data + at, bytes, n);
    w->marks_end = w->out.len;
}

/* Returns the lower case of the capital sigma at w->at, in UTF-8. */
static const char *small_sigma(const struct words *w)
{
    const unsigned dropped = w->n->rules.clean_text ? UNICODE_IS_GOOGLE_CONTROL : 0;
    return letter_case_is_final((const char *)w->text, w->size, w->at, dropped) ? "\xCF\x82"
                                                                                : "\xCF\x83";
}

/* Processes the code point at w->text + w->at. Returns the number of its bytes. */
static inline size_t put_char(struct words *w)
{
    const unsigned char *p = w->text + w->at;
    size_t len;
    uint32_t entry = w->n->table[utf8_get(p, &len)], value = entry >> KIND_BITS;
    switch ((enum kind)(entry & KIND_MASK)) {
    case DROP:
        if (value)
            w->mark_count = 0;
        break;
    case SPACE: end_word(w); break;
    case ALONE:
        end_word(w);
        put_part(w, p, len);
        end_word(w);
        break;
    case MAP: put_part(w, w->n->blob.data + (value >> 8), value & 0xFF); break;
    case MAP_ALONE:
        end_word(w);
        put_part(w, w->n->blob.data + (value >> 8), value & 0xFF);
        end_word(w);
        break;
    case MARK: put_mark(w, p, len, value); break;
    case SIGMA: put_part(w, small_sigma(w), 2); break;
    default: put_part(w, p, len);
    }
    return len;
}

/* Processes 64 bytes of ASCII without control characters. Returns 1, or 0 without effect if there
 * are other bytes. White space is copied to the output between the words. */
static inline int put_block(struct words *w)
{
    struct ascii_masks m;
    unsigned char *out = (unsigned char *)w->out.data + w->out.len;
    const int lower = w->n->rules.lowercase;
    ascii_classify(&m, lower ? out : NULL, w->text + w->at);
    if (!lower)
        memcpy(out, w->text + w->at, ASCII_BLOCK);
    if (m.high | m.controls)
        return 0;
    uint64_t inside = w->begun > w->ended, alone = ~(m.letters | m.digits | m.spaces);
    uint64_t breaks = m.spaces | alone | alone << 1;
    uint64_t begins = ~m.spaces & (breaks | m.spaces << 1 | (inside ^ 1));
    uint64_t ends = (~m.spaces << 1 | inside) & breaks;
    w->begun += ascii_places(w->begins + w->begun, begins, w->out.len);
    w->ended += ascii_places(w->ends + w->ended, ends, w->out.len);
    w->out.len += ASCII_BLOCK;
    if (alone >> 63)
        end_word(w);
    return 1;
}

/* Drops the words already returned, and moves an unfinished word to the front of the output. */
static void next_chunk(struct words *w)
{
    size_t from = w->begun > w->ended ? w->begins[w->ended] : w->out.len;
    size_t left = w->out.len - from;
    w->begun -= w->ended;
    w->ended = 0;
    if (w->mark_count && w->marks_end == w->out.len) {
        for (size_t i = 0; i < w->mark_count && from; i++)
            w->marks[i].at -= (uint32_t)from;
        w->marks_end = left;
    } else {
        w->mark_count = 0;
    }
    if (left && from) /* a long word stays where it is */
        memmove(w->out.data, w->out.data + from, left);
    w->out.len = left;
    buf_reserve(&w->out, GROWTH * (CHUNK_BYTES + SLACK_BYTES) + SLACK_BYTES);
    mem_grow(w->begins, w->begins_cap, CHUNK_BYTES + 2 * SLACK_BYTES);
    mem_grow(w->ends, w->ends_cap, CHUNK_BYTES + 2 * SLACK_BYTES);
    if (w->begun)
        w->begins[0] = 0;
}

int words_next(struct words *w, struct pieces *p)
{
    if (w->at == w->size && w->begun == w->ended)
        return 0;
    next_chunk(w);
    size_t end = w->size - w->at < CHUNK_BYTES ? w->size : w->at + CHUNK_BYTES;
    while (w->at < end) {
        if (w->size - w->at >= ASCII_BLOCK && put_block(w)) {
            w->at += ASCII_BLOCK;
            continue;
        }
        size_t stop = w->size - w->at < ASCII_BLOCK ? w->size : w->at + ASCII_BLOCK;
        while (w->at < stop)
            w->at += put_char(w);
    }
    if (w->at == w->size)
        end_word(w);
    *p = (struct pieces){
        w->out.data, w->out.len + SLACK_BYTES, w->begins, w->ends, w->ended, NULL
    };
    return 1;
}

/* ---- step by step ---------------------------------------------------------------------------- */

void normalize_clean(struct buf *out, const char *text, size_t n)
{
    size_t len;
    for (size_t i = 0; i < n; i += len) {
        uint32_t c = utf8_get((const unsigned char *)text + i, &len);
        if (unicode_is(c, UNICODE_IS_CONTROL))
            continue;
        if (unicode_is(c, UNICODE_IS_SPACE))
            buf_addc(out, ' ');
        else
            buf_add(out, text + i, len);
    }
}

void normalize_space_chinese(struct buf *out, const char *text, size_t n)
{
    size_t len;
    for (size_t i = 0; i < n; i += len) {
        int chinese = is_chinese_here(utf8_get((const unsigned char *)text + i, &len));
        if (chinese)
            buf_addc(out, ' ');
        buf_add(out, text + i, len);
        if (chinese)
            buf_addc(out, ' ');
    }
}
