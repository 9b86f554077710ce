#include "tokenizer/cut/scan.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/base/le.h"
#include "common/base/simd.h"
#include "common/base/utf8.h"
#include "tokenizer/cut/ascii.h"
#include "tokenizer/cut/automaton.h"
#include "tokenizer/cut/lanes.h"

enum {
    CHUNK = LANES_BYTES,
    FEW = 1024,  /* for fewer bytes, lanes are slower */
    WINDOW = 64, /* bytes read after a chunk to find the backward state before them */
    STATES = AUTOMATON_STATES,
};

struct scan {
    const struct automaton *const *automata;
    int count;
    struct lanes lanes;
    const unsigned char *text;
    size_t n;
    size_t begin, end;            /* the chunk */
    const size_t *also;           /* where pieces must begin, too */
    size_t also_count, also_done; /* also_done: how many are before the chunk */
    size_t word;                  /* index of the word of marks that is being returned */
    uint64_t bits;                /* bits of that word not returned yet */
    int ended;                    /* the end of the text has been returned */
    int high;                     /* the chunk has bytes that are not ASCII */
    size_t cap;
    uint8_t *classes, *symbols, *states; /* of the chunk's bytes */
    uint64_t *marks;                     /* bits: a piece begins here */
};

struct scan *scan_new(const struct automaton *const *automata, int count)
{
    struct scan *s = mem_zalloc(1, sizeof *s);
    s->automata = automata;
    s->count = count;
    return s;
}

static void release_chunk(struct scan *s)
{
    free(s->classes);
    free(s->symbols);
    free(s->states);
    free(s->marks);
    s->classes = s->symbols = s->states = NULL;
    s->marks = NULL;
    s->cap = 0;
}

void scan_free(struct scan *s)
{
    if (!s)
        return;
    release_chunk(s);
    lanes_release(&s->lanes);
    free(s);
}

/* Makes room for n bytes, rounded up to whole blocks of the lanes. */
static void reserve(struct scan *s, size_t n)
{
    if (n <= s->cap)
        return;
    release_chunk(s);
    s->cap = (n + LANES_BYTES - 1) / LANES_BYTES * LANES_BYTES;
    s->classes = mem_aligned(s->cap + WINDOW, 1);
    s->symbols = mem_aligned(s->cap, 1);
    s->states = mem_aligned(s->cap, 1);
    s->marks = mem_aligned(s->cap / ASCII_BLOCK, sizeof *s->marks);
}

void scan_begin(struct scan *s, const char *text, size_t n)
{
    if (s->cap > CHUNK << 8) { /* the text before had an unusually long chunk */
        release_chunk(s);
        lanes_release(&s->lanes);
    }
    s->text = (const unsigned char *)text;
    s->n = n;
    s->begin = s->end = s->word = 0;
    s->also_count = s->also_done = 0;
    s->bits = 0;
    s->ended = !n;
}

void scan_also_at(struct scan *s, const size_t *offsets, size_t count)
{
    s->also = offsets;
    s->also_count = count;
}

/* ---- classes --------------------------------------------------------------------------------- */

static inline void classify_character(const struct automaton *a, const unsigned char *p,
                                      uint8_t *class)
{
    size_t len;
    *class = automaton_class(a, utf8_get(p, &len));
}

/* Sets classes[0..n) to the classes of text[0..n). Returns 1 if a byte is not ASCII, else 0. */
static int classify_plain(const struct automaton *a, const unsigned char *text, size_t n,
                          uint8_t *classes)
{
    unsigned char all = 0;
    for (size_t i = 0; i < n; i++) {
        classes[i] = a->bytes[text[i]];
        all |= text[i];
        if (text[i] >= 0xC0 && !a->of_bytes)
            classify_character(a, text + i, &classes[i]);
    }
    return all >= 0x80;
}

/* ---- the two automata ------------------------------------------------------------------------ */

/* Runs the backward automaton over a chunk of n classes: sets symbols[0..n). `state` is the state
 * after the chunk. */
static void go_back_plain(const struct automaton *a, const uint8_t *classes, size_t n,
                          uint8_t state, uint8_t *symbols)
{
    while (n-- > 0) {
        symbols[n] = a->symbols[classes[n]][state];
        state = a->back[classes[n]][state];
    }
}

/* Runs the forward automaton over a chunk of n symbols: sets states[i] to the state after symbol i.
 * A piece must begin at the first character, so the initial state has no influence. */
static void go_forth_plain(const struct automaton *a, const uint8_t *symbols, size_t n,
                           uint8_t *states)
{
    uint8_t state = 0;
    for (size_t i = 0; i < n; i++)
        states[i] = state = a->forward[symbols[i]][state & AUTOMATON_STATE];
}

/* Returns the backward state before the n characters, if it is the same for all states after them;
 * otherwise -1. All states mostly become equal after a few characters; then it follows only one. */
static int settle(const struct automaton *a, const uint8_t *classes, size_t n)
{
    uint8_t all[STATES];
    int count = a->back_count;
    for (int i = 0; i < STATES; i++)
        all[i] = (uint8_t)i;
    while (n-- > 0) {
        int same = 1;
        for (int i = 0; i < count; i++) {
            all[i] = a->back[classes[n]][all[i]];
            same &= all[i] == all[0];
        }
        count = same ? 1 : count;
    }
    return count == 1 ? all[0] : -1;
}

/* Returns a mask of 64 states: bit i is set if states[i] has AUTOMATON_BEGIN. */
static uint64_t marks_plain(const uint8_t *states)
{
    const uint64_t gather = 0x0102040810204080u, ones = 0x0101010101010101u;
    uint64_t bits = 0;
    for (int i = 0; i < ASCII_BLOCK; i += 8)
        bits |= (((le_u64(states + i) >> 4 & ones) * gather) >> 56) << i;
    return bits;
}

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m128i row(const uint8_t (*rows)[STATES], uint8_t i)
{
    return _mm_load_si128((const __m128i *)rows[i]);
}

AVX2 static void go_back_avx2(const struct automaton *a, const uint8_t *classes, size_t n,
                              uint8_t from, uint8_t *symbols)
{
    __m128i state = _mm_set1_epi8((char)from);
#pragma GCC unroll 8
    while (n-- > 0) {
        __m128i symbol = _mm_shuffle_epi8(row(a->symbols, classes[n]), state);
        symbols[n] = (uint8_t)_mm_extract_epi8(symbol, 0);
        state = _mm_shuffle_epi8(row(a->back, classes[n]), state);
    }
}

/* As go_forth_plain. A shuffle uses only the low four bits of an index, so the other bits of a
 * state need not be cleared. */
AVX2 static void go_forth_avx2(const struct automaton *a, const uint8_t *symbols, size_t n,
                               uint8_t *states)
{
    __m128i state = _mm_setzero_si128();
#pragma GCC unroll 8
    for (size_t i = 0; i < n; i++) {
        state = _mm_shuffle_epi8(row(a->forward, symbols[i]), state);
        states[i] = (uint8_t)_mm_extract_epi8(state, 0);
    }
}

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2")))

/* Writes to `classes` the classes of the characters that are not ASCII among the 64 bytes at
 * `text`, which are also in c. */
AVX512 static void classify_high(const struct automaton *a, const unsigned char *text, __m512i c,
                                 uint8_t *classes)
{
    uint64_t leads = _mm512_cmpge_epu8_mask(c, _mm512_set1_epi8((char)0xC0));
    for (; leads; leads &= leads - 1) {
        size_t i = (size_t)__builtin_ctzll(leads);
        classify_character(a, text + i, &classes[i]);
    }
}

/* Looks up 64 bytes in a table of 128. Only the low 7 bits of a byte count. */
AVX512 static inline __m512i look_up(const uint8_t *table, __m512i c)
{
    return _mm512_permutex2var_epi8(_mm512_loadu_si512(table), c, _mm512_loadu_si512(table + 64));
}

AVX512 static int classify_avx512(const struct automaton *a, const unsigned char *text, size_t n,
                                  uint8_t *classes)
{
    const __m512i tails = _mm512_set1_epi8((char)a->tail);
    size_t i = 0;
    uint64_t any = 0;
    for (; n - i >= ASCII_BLOCK; i += ASCII_BLOCK) {
        __m512i c = _mm512_loadu_si512(text + i);
        ascii_fetch_ahead(text + i);
        uint64_t beyond = _mm512_movepi8_mask(c);
        __m512i others = beyond && a->of_bytes ? look_up(a->bytes + 128, c) : tails;
        __m512i class = _mm512_mask_blend_epi8(beyond, look_up(a->bytes, c), others);
        _mm512_storeu_si512(classes + i, class);
        any |= beyond;
        if (beyond && !a->of_bytes)
            classify_high(a, text + i, c, classes + i);
    }
    return classify_plain(a, text + i, n - i, classes + i) | (any != 0);
}

/* As mark_cuts, with AVX-512. */
AVX512 static void mark_cuts_avx512(const uint64_t *marks, size_t n, uint8_t *classes)
{
    const __m512i cut = _mm512_set1_epi8(AUTOMATON_CUT);
    for (size_t i = 0; i < n; i += ASCII_BLOCK) {
        __m512i c = _mm512_loadu_si512(classes + i);
        _mm512_storeu_si512(classes + i,
                            _mm512_or_si512(c, _mm512_maskz_mov_epi8(marks[i / ASCII_BLOCK], cut)));
    }
}
#endif

static int classify(const struct automaton *a, const unsigned char *text, size_t n,
                    uint8_t *classes)
{
#if defined(__x86_64__)
    if (simd_level() == SIMD_AVX512)
        return classify_avx512(a, text, n, classes);
#endif
    return classify_plain(a, text, n, classes);
}

/* Adds AUTOMATON_CUT to the classes of the n bytes whose bits in `marks` are set. The bits of
 * `marks` after the n-th are 0. */
static void mark_cuts(const uint64_t *marks, size_t n, uint8_t *classes)
{
#if defined(__x86_64__)
    if (simd_level() == SIMD_AVX512) {
        mark_cuts_avx512(marks, n, classes);
        return;
    }
#endif
    for (size_t i = 0; i < n; i += ASCII_BLOCK)
        for (uint64_t bits = marks[i / ASCII_BLOCK]; bits; bits &= bits - 1)
            classes[i + (size_t)__builtin_ctzll(bits)] |= AUTOMATON_CUT;
}

static void find_marks(struct scan *s, size_t n)
{
    memset(s->states + n, 0, (ASCII_BLOCK - n % ASCII_BLOCK) % ASCII_BLOCK);
    for (size_t i = 0; i < n; i += ASCII_BLOCK)
        s->marks[i / ASCII_BLOCK] = marks_plain(s->states + i);
}

/* Computes the marks of a chunk from its n classes. `behind` is the backward state after it. For
 * the lanes, the bytes after the chunk are filled with a neutral class. */
static void go(const struct automaton *a, struct scan *s, size_t n, uint8_t behind)
{
    if (n >= FEW) {
        size_t blocks = (n + LANES_BYTES - 1) / LANES_BYTES;
        memset(s->classes + n, a->tail | AUTOMATON_CUT, blocks * LANES_BYTES + LANES_OUTSIDE - n);
        if (lanes_go(&s->lanes, a, s->classes, blocks, behind, s->marks) == 0)
            return;
    }
#if defined(__x86_64__)
    if (simd_level() >= SIMD_AVX2) {
        go_back_avx2(a, s->classes, n, behind, s->symbols);
        go_forth_avx2(a, s->symbols, n, s->states);
        find_marks(s, n);
        return;
    }
#endif
    go_back_plain(a, s->classes, n, behind, s->symbols);
    go_forth_plain(a, s->symbols, n, s->states);
    find_marks(s, n);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* Sets classes[0..n) to the classes of the first automaton for the text from `at`. Returns what
 * classify does. */
static int classify_first(const struct scan *s, size_t at, size_t n, uint8_t *classes)
{
    int high = classify(s->automata[0], s->text + at, n, classes);
    for (size_t i = s->also_done; i < s->also_count && s->also[i] < at + n; i++)
        if (s->also[i] >= at)
            classes[s->also[i] - at] |= AUTOMATON_CUT;
    return high;
}

/* Returns the backward state of the first automaton at s->end; -1 if the following WINDOW bytes do
 * not determine it. */
static int state_behind(const struct scan *s)
{
    const struct automaton *a = s->automata[0];
    uint8_t classes[WINDOW];
    size_t left = s->n - s->end, n = left < WINDOW ? left : WINDOW;
    if (!left)
        return a->back_end;
    classify_first(s, s->end, n, classes);
    if (n < left)
        return settle(a, classes, n);
    uint8_t state = a->back_end;
    while (n-- > 0)
        state = a->back[classes[n]][state];
    return state;
}

/* Cuts the chunk with the first automaton. Returns -1 if the state after it is unknown, else 0. */
static int cut_first(struct scan *s)
{
    size_t n = s->end - s->begin;
    int behind = state_behind(s);
    if (behind < 0)
        return -1;
    s->high = classify_first(s, s->begin, n, s->classes);
    s->classes[0] |= AUTOMATON_CUT;
    go(s->automata[0], s, n, (uint8_t)behind);
    return 0;
}

/* Cuts the chunk's pieces with another automaton. */
static void cut_again(struct scan *s, const struct automaton *a)
{
    size_t n = s->end - s->begin;
    if (!s->high && a->skips_ascii)
        return;
    classify(a, s->text + s->begin, n, s->classes);
    mark_cuts(s->marks, n, s->classes);
    go(a, s, n, a->back_end);
}

/* Shortens the chunk so that it ends where its last piece begins, unless it ends with the text.
 * Returns 0, or -1 if it has only one piece. */
static int end_at_piece(struct scan *s)
{
    size_t n = s->end - s->begin, word = (n + ASCII_BLOCK - 1) / ASCII_BLOCK;
    if (s->end == s->n)
        return 0;
    while (word && !s->marks[word - 1])
        word--;
    size_t last = word ? ASCII_BLOCK * word - 1 - (size_t)__builtin_clzll(s->marks[word - 1]) : 0;
    if (!last)
        return -1;
    s->marks[last / ASCII_BLOCK] &= ((uint64_t)1 << last % ASCII_BLOCK) - 1;
    s->end = s->begin + last;
    return 0;
}

/* Reads and cuts the next chunk, which has at least one complete piece. */
static void next_chunk(struct scan *s)
{
    s->begin = s->end;
    while (s->also_done < s->also_count && s->also[s->also_done] < s->begin)
        s->also_done++;
    for (size_t want = CHUNK;; want *= 2) {
        s->end = s->n - s->begin < want ? s->n : s->begin + want;
        reserve(s, s->end - s->begin);
        if (cut_first(s) == 0 && end_at_piece(s) == 0)
            break;
    }
    for (int i = 1; i < s->count; i++)
        cut_again(s, s->automata[i]);
    if (!s->begin)
        s->marks[0] &= ~(uint64_t)1; /* no piece ends at the beginning of the text */
    s->word = 0;
    s->bits = s->marks[0];
}

int scan_next(struct scan *s, size_t *ends, int max)
{
    int count = 0;
    while (count < max && !s->ended) {
        size_t base = s->begin + s->word * ASCII_BLOCK;
        if (max - count >= ASCII_BLOCK) {
            count += (int)ascii_places(ends + count, s->bits, base);
            s->bits = 0;
        }
        for (; s->bits && count < max; s->bits &= s->bits - 1)
            ends[count++] = base + (size_t)__builtin_ctzll(s->bits);
        if (s->bits)
            break;
        if (base + ASCII_BLOCK < s->end) {
            s->bits = s->marks[++s->word];
        } else if (s->end < s->n) {
            next_chunk(s);
        } else if (count < max) {
            ends[count++] = s->n;
            s->ended = 1;
        }
    }
    return count;
}
