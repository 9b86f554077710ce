#include "unicode/forms.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "unicode/bert_classes.h"

enum {
    JAMO_L = 0x1100,
    JAMO_V = 0x1161,
    JAMO_T = 0x11A7,
    L_COUNT = 19,
    V_COUNT = 21,
    T_COUNT = 28,
};

/* ---- classes -------------------------------------------------------------------------------- */

static uint8_t bits_of[UNICODE_LIMIT], class_of[UNICODE_LIMIT];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void put_bits(const struct unicode_range *r, unsigned bits)
{
    for (; r->first <= r->last; r++)
        for (uint32_t c = r->first; c <= r->last; c++)
            bits_of[c] |= (uint8_t)bits;
}

static void make_tables(void)
{
    put_bits(unicode_spaces, FORMS_SPACE);
    put_bits(hf_punctuation, FORMS_PUNCTUATION);
    put_bits(forms_numbers, FORMS_NUMBER);
    put_bits(forms_word_characters, FORMS_WORD);
    put_bits(forms_marks, FORMS_MARK);
    put_bits(hf_marks, FORMS_NON_SPACING);
    put_bits(hf_controls, FORMS_CONTROL);
    for (const struct unicode_class_run *r = forms_class_runs; r->first <= r->last; r++)
        for (uint32_t c = r->first; c <= r->last; c++)
            class_of[c] = (uint8_t)r->class;
}

int forms_is(uint32_t c, unsigned bits)
{
    pthread_once(&tables_once, make_tables);
    return (bits_of[c] & bits) != 0;
}

/* ---- code points ---------------------------------------------------------------------------- */

struct points {
    uint32_t *data;
    size_t count, cap;
};

static int compare_decompositions(const void *key, const void *item)
{
    uint32_t a = *(const uint32_t *)key, b = ((const struct forms_decomposition *)item)->from;
    return a < b ? -1 : a > b;
}

static const struct forms_decomposition *find_decomposition(uint32_t c, int compatible)
{
    const struct forms_decomposition *d = NULL;
    if (compatible)
        d = bsearch(&c, forms_compatible, forms_compatible_count, sizeof *d,
                    compare_decompositions);
    if (!d)
        d = bsearch(&c, forms_canonical, forms_canonical_count, sizeof *d, compare_decompositions);
    return d;
}

size_t forms_decompose(uint32_t parts[FORMS_PARTS_MAX], uint32_t c, int compatible)
{
    uint32_t syllable = c - FORMS_HANGUL;
    if (syllable < FORMS_HANGUL_COUNT) {
        parts[0] = JAMO_L + syllable / (V_COUNT * T_COUNT);
        parts[1] = JAMO_V + syllable / T_COUNT % V_COUNT;
        parts[2] = JAMO_T + syllable % T_COUNT;
        return syllable % T_COUNT ? 3 : 2;
    }
    const struct forms_decomposition *d = c < 0xA0 ? NULL : find_decomposition(c, compatible);
    if (!d) {
        parts[0] = c;
        return 1;
    }
    assert(d->len <= FORMS_PARTS_MAX);
    memcpy(parts, forms_decomposition_points + d->at, d->len * sizeof *parts);
    return d->len;
}

static void decompose(struct points *out, uint32_t c, int compatible)
{
    mem_grow(out->data, out->cap, out->count + FORMS_PARTS_MAX);
    out->count += forms_decompose(out->data + out->count, c, compatible);
}

/* Marks in the order of their classes, equal ones as they stand: sorting by insertion would take a
 * row of marks the square of its length, so a long row is merged. */
static void sort_marks(uint32_t *marks, size_t n, uint32_t *room)
{
    if (n < 16) {
        for (size_t i = 1; i < n; i++) {
            uint32_t moving = marks[i];
            size_t k = i;
            for (; k && class_of[marks[k - 1]] > class_of[moving]; k--)
                marks[k] = marks[k - 1];
            marks[k] = moving;
        }
        return;
    }
    size_t half = n / 2, a = 0, b = half;
    sort_marks(marks, half, room);
    sort_marks(marks + half, n - half, room);
    for (size_t i = 0; i < n; i++)
        room[i] = b == n || (a < half && class_of[marks[a]] <= class_of[marks[b]]) ? marks[a++]
                                                                                   : marks[b++];
    memcpy(marks, room, n * sizeof *marks);
}

static void order_marks(struct points *p)
{
    uint32_t *room = NULL;
    size_t room_count = 0;
    for (size_t begin = 0, end; begin < p->count; begin = end) {
        end = begin + 1;
        if (!class_of[p->data[begin]])
            continue;
        while (end < p->count && class_of[p->data[end]])
            end++;
        mem_grow(room, room_count, end - begin);
        sort_marks(p->data + begin, end - begin, room);
    }
    free(room);
}

static int compare_composites(const void *key, const void *item)
{
    const struct forms_composite *a = key, *b = item;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->second < b->second ? -1 : a->second > b->second;
}

/* The character that the two make, 0 for none. */
static uint32_t compose_pair(uint32_t first, uint32_t second)
{
    uint32_t l = first - JAMO_L, v = second - JAMO_V, syllable = first - FORMS_HANGUL,
             t = second - JAMO_T;
    if (l < L_COUNT && v < V_COUNT)
        return FORMS_HANGUL + (l * V_COUNT + v) * T_COUNT;
    if (syllable < FORMS_HANGUL_COUNT && syllable % T_COUNT == 0 && t && t < T_COUNT)
        return first + t;
    const struct forms_composite key = { first, second, 0 };
    const struct forms_composite *c = bsearch(&key, forms_composites, forms_composites_count,
                                              sizeof key, compare_composites);
    return c ? c->composite : 0;
}

/* Each character joins the last one before it that begins a row, unless one between them has the
 * same class or none. */
static void compose(struct points *p)
{
    size_t kept = 0, starter = SIZE_MAX;
    int last_class = -1; /* of what was kept behind the starter; -1: nothing was */
    for (size_t i = 0; i < p->count; i++) {
        uint32_t c = p->data[i], joined = 0;
        int class = class_of[c];
        if (starter != SIZE_MAX && last_class < class)
            joined = compose_pair(p->data[starter], c);
        if (joined) {
            p->data[starter] = joined;
            continue;
        }
        if (!class)
            starter = kept;
        last_class = class ? class : -1;
        p->data[kept++] = c;
    }
    p->count = kept;
}

/* ---- what stays as it is ---------------------------------------------------------------------- */

enum { FORMS = FORM_NFKC + 1 };
static uint8_t unstable[UNICODE_LIMIT]; /* a bit for each form */
static pthread_once_t stable_once = PTHREAD_ONCE_INIT;

static void put_unstable(uint32_t first, uint32_t last, unsigned bits)
{
    for (uint32_t c = first; c <= last; c++)
        unstable[c] |= (uint8_t)bits;
}

/* Characters that the form changes where they stand alone. */
static void put_changing(const struct forms_decomposition *d, size_t count, int compatible)
{
    for (size_t i = 0; i < count; i++) {
        struct points points = { 0 };
        decompose(&points, d[i].from, compatible);
        order_marks(&points);
        put_unstable(d[i].from, d[i].from, 1u << (compatible ? FORM_NFKD : FORM_NFD));
        compose(&points);
        if (points.count != 1 || points.data[0] != d[i].from)
            put_unstable(d[i].from, d[i].from, 1u << (compatible ? FORM_NFKC : FORM_NFC));
        free(points.data);
    }
}

/* Marks may change places, and the second ones of pairs may join the first. */
static void make_unstable(void)
{
    const unsigned all = (1 << FORMS) - 1, composing = 1u << FORM_NFC | 1u << FORM_NFKC;
    pthread_once(&tables_once, make_tables);
    for (uint32_t c = 0; c < UNICODE_LIMIT; c++)
        if (class_of[c])
            unstable[c] = (uint8_t)all;
    put_changing(forms_canonical, forms_canonical_count, 0);
    put_changing(forms_canonical, forms_canonical_count, 1);
    put_changing(forms_compatible, forms_compatible_count, 1);
    for (size_t i = 0; i < forms_composites_count; i++)
        put_unstable(forms_composites[i].second, forms_composites[i].second, composing);
    put_unstable(JAMO_V, JAMO_V + V_COUNT - 1, composing);
    put_unstable(JAMO_T, JAMO_T + T_COUNT - 1, composing);
    put_unstable(FORMS_HANGUL, FORMS_HANGUL + FORMS_HANGUL_COUNT - 1, all & ~composing);
}

size_t forms_stable(const char *text, size_t n, enum form form)
{
    size_t i = 0, len = 0;
    uint64_t word;
    pthread_once(&stable_once, make_unstable);
    while (i < n) {
        for (; n - i >= 8; i += 8) { /* of ASCII all is stable */
            memcpy(&word, text + i, 8);
            if (word & 0x8080808080808080u)
                break;
        }
        uint32_t c = i < n ? utf8_get((const unsigned char *)text + i, &len) : 0;
        if (i == n || unstable[c] >> form & 1)
            break;
        i += len;
    }
    return i;
}

/* A row of characters that may change, with the one in front of them. */
static size_t changing_row(const char *text, size_t n, enum form form)
{
    size_t i = 0, len;
    while (i < n && (!i || unstable[utf8_get((const unsigned char *)text + i, &len)] >> form & 1)) {
        utf8_get((const unsigned char *)text + i, &len);
        i += len;
    }
    return i;
}

static void normalize_row(struct buf *out, struct points *points, const char *text, size_t n,
                          enum form form)
{
    size_t len;
    points->count = 0;
    for (size_t i = 0; i < n; i += len)
        decompose(points, utf8_get((const unsigned char *)text + i, &len),
                  form == FORM_NFKD || form == FORM_NFKC);
    order_marks(points);
    if (form == FORM_NFC || form == FORM_NFKC)
        compose(points);
    for (size_t i = 0; i < points->count; i++)
        buf_add_utf8(out, points->data[i]);
}

void forms_normalize(struct buf *out, const char *text, size_t n, enum form form)
{
    struct points points = { 0 };
    for (size_t i = 0; i < n;) {
        size_t stable = forms_stable(text + i, n - i, form);
        if (stable == n - i) {
            buf_add(out, text + i, stable);
            break;
        }
        while (stable && ((unsigned char)text[i + --stable] & 0xC0) == 0x80)
            ; /* what follows may join the last one */
        buf_add(out, text + i, stable);
        i += stable;
        size_t row = changing_row(text + i, n - i, form);
        normalize_row(out, &points, text + i, row, form);
        i += row;
    }
    free(points.data);
}

/* ---- lower case, marks, controls --------------------------------------------------------------- */

void forms_lower(struct buf *out, const char *text, size_t n)
{
    size_t len;
    for (size_t i = 0; i < n; i += len) {
        uint32_t c = utf8_get((const unsigned char *)text + i, &len);
        if (c < 0x80) {
            buf_addc(out, c >= 'A' && c <= 'Z' ? (int)c + 'a' - 'A' : (int)c);
        } else if (c == BERT_CLASSES_DOTTED_I) {
            buf_adds(out, "i\xCC\x87");
        } else {
            buf_add_utf8(out, bert_classes_lower(c, 0));
        }
    }
}

void forms_drop(struct buf *out, const char *text, size_t n, unsigned bits)
{
    size_t len;
    for (size_t i = 0; i < n; i += len)
        if (!forms_is(utf8_get((const unsigned char *)text + i, &len), bits))
            buf_add(out, text + i, len);
}

void forms_strip_marks(struct buf *out, const char *text, size_t n)
{
    forms_drop(out, text, n, FORMS_MARK);
}

void forms_nmt(struct buf *out, const char *text, size_t n)
{
    size_t len;
    for (size_t i = 0; i < n; i += len) {
        uint32_t c = utf8_get((const unsigned char *)text + i, &len);
        if (c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 ||
            (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
            c == 0xFEFF || c == 0xFFFD)
            buf_addc(out, ' ');
        else if (!c || (c >= ' ' && c != 0x7F && c != 0x8F && c != 0x9F))
            buf_add(out, text + i, len);
    }
}
