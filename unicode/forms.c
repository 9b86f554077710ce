#include "unicode/forms.h"

#include <pthread.h>

#include "common/base/ids.h"
#include "common/base/utf8.h"
#include "unicode/unicode.h"

enum {
    JAMO_L = 0x1100,
    JAMO_V = 0x1161,
    JAMO_T = 0x11A7,
    L_COUNT = 19,
    V_COUNT = 21,
    T_COUNT = 28,
};

/* ---- code points ---------------------------------------------------------------------------- */

/* Returns the parts of c in one of the tables, and sets *n to their number; NULL: it has none. */
static const uint32_t *find_parts(const struct forms_run *runs, size_t count, uint32_t c, size_t *n)
{
    const struct forms_run *r = unicode_run(runs, count, sizeof *runs, c);
    if (!r || c - r->first >= r->count)
        return NULL;
    *n = r->parts;
    return forms_points + r->at + (c - r->first) * r->parts;
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
    const uint32_t *found = NULL;
    size_t n = 1;
    if (c >= 0xA0 && compatible)
        found = find_parts(forms_compatible, forms_compatible_count, c, &n);
    if (c >= 0xA0 && !found)
        found = find_parts(forms_canonical, forms_canonical_count, c, &n);
    memcpy(parts, found ? found : &c, n * sizeof *parts);
    return n;
}

static void decompose(struct ids *out, uint32_t c, int compatible)
{
    mem_grow(out->data, out->cap, out->count + FORMS_PARTS_MAX);
    out->count += forms_decompose(out->data + out->count, c, compatible);
}

static int class_of(uint32_t c)
{
    return unicode_of(c)->combining;
}

/* Sorts marks by combining class, stably: merge sort. `room` has n elements. */
static void sort_marks(uint32_t *marks, size_t n, uint32_t *room)
{
    size_t half = n / 2, a = 0, b = half;
    if (n < 2)
        return;
    sort_marks(marks, half, room);
    sort_marks(marks + half, n - half, room);
    for (size_t i = 0; i < n; i++)
        room[i] = b == n || (a < half && class_of(marks[a]) <= class_of(marks[b])) ? marks[a++]
                                                                                   : marks[b++];
    memcpy(marks, room, n * sizeof *marks);
}

static void order_marks(struct ids *p)
{
    SCOPED_MEM uint32_t *room = NULL;
    size_t room_count = 0;
    for (size_t begin = 0, end; begin < p->count; begin = end) {
        end = begin + 1;
        if (!class_of(p->data[begin]))
            continue;
        while (end < p->count && class_of(p->data[end]))
            end++;
        mem_grow(room, room_count, end - begin);
        sort_marks(p->data + begin, end - begin, room);
    }
}

static int compare_pairs(const void *key, const void *item)
{
    const struct forms_pair *a = key, *b = item;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->second < b->second ? -1 : a->second > b->second;
}

/* Returns the composition of two characters, or 0. */
static uint32_t compose_pair(uint32_t first, uint32_t second)
{
    uint32_t l = first - JAMO_L, v = second - JAMO_V, syllable = first - FORMS_HANGUL,
             t = second - JAMO_T;
    if (l < L_COUNT && v < V_COUNT)
        return FORMS_HANGUL + (l * V_COUNT + v) * T_COUNT;
    if (syllable < FORMS_HANGUL_COUNT && syllable % T_COUNT == 0 && t && t < T_COUNT)
        return first + t;
    const struct forms_pair key = { first, second, 0 };
    const struct forms_pair *pair = bsearch(&key, forms_pairs, forms_pairs_count, sizeof key,
                                            compare_pairs);
    return pair ? pair->whole : 0;
}

/* Composes the characters of p in place. Each character is joined with the last starter (class 0)
 * before it, unless a character between them has the same or a higher class. */
static void compose(struct ids *p)
{
    size_t kept = 0, starter = SIZE_MAX;
    int last_class = -1; /* class of the last character kept after the starter; -1: none */
    for (size_t i = 0; i < p->count; i++) {
        uint32_t c = p->data[i], joined = 0;
        int class = class_of(c);
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

/* ---- text that does not change --------------------------------------------------------------- */

enum { FORMS = FORM_NFKC + 1 };
static uint8_t unstable[UNICODE_LIMIT]; /* bit per form: 1 if it may change */
static pthread_once_t stable_once = PTHREAD_ONCE_INIT;

static void put_unstable(uint32_t first, uint32_t last, unsigned bits)
{
    for (uint32_t c = first; c <= last; c++)
        unstable[c] |= (uint8_t)bits;
}

static void put_runs(const struct forms_run *r, size_t count, unsigned bits)
{
    for (; count; count--, r++)
        put_unstable(r->first, r->first + r->count - 1, bits);
}

/* Fills `unstable`. It includes combining marks, which may be reordered, and characters that may be
 * joined with the character before them. */
static void make_unstable(void)
{
    const unsigned all = (1 << FORMS) - 1, composing = 1u << FORM_NFC | 1u << FORM_NFKC;
    put_runs(forms_canonical, forms_canonical_count, all);
    for (size_t i = 0; i < forms_pairs_count; i++) /* what decomposes into a pair composes again */
        unstable[forms_pairs[i].whole] = all & ~composing;
    put_runs(forms_compatible, forms_compatible_count, 1u << FORM_NFKD | 1u << FORM_NFKC);
    for (uint32_t c = 0; (c = unicode_next(UNICODE_IS_COMBINING, c)) < UNICODE_LIMIT; c++)
        if (class_of(c))
            unstable[c] = all;
    for (size_t i = 0; i < forms_pairs_count; i++)
        put_unstable(forms_pairs[i].second, forms_pairs[i].second, composing);
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
        for (; n - i >= 8; i += 8) { /* ASCII never changes */
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

/* Returns the length of the first character and of the characters after it that may change. */
static size_t changing_row(const char *text, size_t n, enum form form)
{
    size_t i = 0, len;
    while (i < n && (!i || unstable[utf8_get((const unsigned char *)text + i, &len)] >> form & 1)) {
        utf8_get((const unsigned char *)text + i, &len);
        i += len;
    }
    return i;
}

static void normalize_row(struct buf *out, struct ids *row, const char *text, size_t n,
                          enum form form)
{
    size_t len;
    row->count = 0;
    for (size_t i = 0; i < n; i += len)
        decompose(row, utf8_get((const unsigned char *)text + i, &len),
                  form == FORM_NFKD || form == FORM_NFKC);
    order_marks(row);
    if (form == FORM_NFC || form == FORM_NFKC)
        compose(row);
    for (size_t i = 0; i < row->count; i++)
        utf8_add(out, row->data[i]);
}

void forms_normalize(struct buf *out, const char *text, size_t n, enum form form)
{
    struct ids room = { 0 };
    for (size_t i = 0; i < n;) {
        size_t stable = forms_stable(text + i, n - i, form);
        if (stable == n - i) {
            buf_add(out, text + i, stable);
            break;
        }
        while (stable && ((unsigned char)text[i + --stable] & 0xC0) == 0x80)
            ; /* the last stable character may be joined with the next one */
        buf_add(out, text + i, stable);
        i += stable;
        size_t row = changing_row(text + i, n - i, form);
        normalize_row(out, &room, text + i, row, form);
        i += row;
    }
    ids_release(&room);
}

/* ---- marks, controls ------------------------------------------------------------------------- */

void forms_drop(struct buf *out, const char *text, size_t n, unsigned sets)
{
    size_t len;
    for (size_t i = 0; i < n; i += len)
        if (!unicode_is(utf8_get((const unsigned char *)text + i, &len), sets))
            buf_add(out, text + i, len);
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
