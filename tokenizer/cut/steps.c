#include "tokenizer/cut/steps.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/base/err.h"
#include "common/base/ids.h"
#include "common/base/le.h"
#include "common/base/simd.h"
#include "common/base/utf8.h"
#include "tokenizer/cut/ascii.h"
#include "tokenizer/cut/charsmap.h"
#include "tokenizer/cut/gpt2.h"
#include "tokenizer/cut/regex.h"
#include "unicode/forms.h"
#include "unicode/letter_case.h"
#include "unicode/unicode.h"

enum {
    REPLACED = 1 << 16, /* bytes of the result for which memory is reserved at a time */
    TOGETHER = 1024,    /* bytes that are replaced by vector instructions in one loop */
    PART = 32,
};

/* A text, and the pieces into which it is cut. */
struct cut {
    struct buf text;
    size_t *begins, *ends;
    size_t count, begins_cap, ends_cap;
    struct ids origins; /* of each byte of `text`, if the stepper keeps them */
};

struct stepper {
    const struct steps *normalizer, *cuts;
    struct regex_scratch *scratch;
    struct buf now, next;
    struct cut pieces, made;
    struct cut tiles; /* for one piece: the matches and the text between them; `text` is unused */
    unsigned char *is_match;
    size_t is_match_cap;
    step_follower *follow; /* NULL: origins are not kept */
};

void step_release(struct step *s)
{
    regex_free(s->regex);
    charsmap_free(s->map);
    free(s->text);
    free(s->content);
}

void steps_release(struct steps *s)
{
    for (size_t i = 0; i < s->count; i++)
        step_release(&s->items[i]);
    free(s->items);
    *s = (struct steps){ 0 };
}

struct stepper *stepper_new(const struct steps *normalizer, const struct steps *cuts)
{
    struct stepper *s = mem_zalloc(1, sizeof *s);
    s->normalizer = normalizer;
    s->cuts = cuts;
    s->scratch = regex_scratch_new();
    buf_init(&s->now);
    buf_init(&s->next);
    buf_init(&s->pieces.text);
    buf_init(&s->made.text);
    return s;
}

static void cut_release(struct cut *c)
{
    if (c->text.data)
        buf_release(&c->text);
    free(c->begins);
    free(c->ends);
    ids_release(&c->origins);
}

void stepper_free(struct stepper *s)
{
    if (!s)
        return;
    regex_scratch_free(s->scratch);
    buf_release(&s->now);
    buf_release(&s->next);
    cut_release(&s->pieces);
    cut_release(&s->made);
    cut_release(&s->tiles);
    free(s->is_match);
    free(s);
}

/* ---- patterns -------------------------------------------------------------------------------- */

int steps_find(const struct step *step, struct regex_scratch *scratch, const char *text, size_t n,
               size_t from, size_t *begin, size_t *end)
{
    if (step->regex)
        return regex_find(step->regex, scratch, text, n, from, begin, end);
    const char *hit = memmem(text + from, n - from, step->text, step->len);
    *begin = hit ? (size_t)(hit - text) : n;
    *end = hit ? *begin + step->len : n;
    return hit != NULL;
}

/* ---- normalizers ----------------------------------------------------------------------------- */

/* Copies text[0..n) to `to`. If n is at most PART, as mostly, and PART bytes are readable, copies
 * PART bytes at once: the caller overwrites the rest. Returns the end of the n bytes. */
static inline char *put_part(char *to, const char *text, size_t n, size_t readable)
{
    if (n <= PART && readable >= PART)
        memcpy(to, text, PART);
    else
        memcpy(to, text, n);
    return to + n;
}

#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")))

/* As replace_byte, for the first bytes of text[0..n); `len` is 1 to 4. Each byte gets `len` places
 * in a vector: a byte that is replaced fills all of them, any other only the first. Then the places
 * that are used move together. Returns the number of bytes done. */
AVX512 static size_t replace_blocks(struct buf *out, const char *text, size_t n, char byte,
                                    const char *content, size_t len)
{
    unsigned char sources[ASCII_BLOCK], with[ASCII_BLOCK];
    uint64_t firsts = 0, all = UINT64_MAX >> ASCII_BLOCK % len;
    size_t i = 0;
    for (size_t k = 0; k < ASCII_BLOCK; k++) {
        sources[k] = (unsigned char)(k / len);
        with[k] = (unsigned char)content[k % len];
        firsts |= (uint64_t)(k % len == 0) << k;
    }
    const __m512i from = _mm512_loadu_si512(sources), replacement = _mm512_loadu_si512(with);
    while (n - i > TOGETHER) {
        buf_reserve(out, TOGETHER * len + ASCII_BLOCK);
        char *to = out->data + out->len;
        for (size_t end = i + TOGETHER - ASCII_BLOCK; i < end; i += ASCII_BLOCK / len) {
            __m512i c = _mm512_permutexvar_epi8(from, _mm512_loadu_si512(text + i));
            uint64_t hits = _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(byte));
            uint64_t used = (hits | firsts) & all;
            c = _mm512_mask_mov_epi8(c, hits, replacement);
            _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(used, c));
            to += __builtin_popcountll(used);
        }
        out->len = (size_t)(to - out->data);
    }
    return i;
}
#endif

/* Appends the text with each `byte` replaced by `content`, `len` <= 4 bytes. */
static void replace_byte(struct buf *out, const char *text, size_t n, char byte,
                         const char *content, size_t len)
{
    unsigned char block[ASCII_BLOCK];
    char with[4] = { 0 };
    size_t done = 0;
#if defined(__x86_64__)
    if (len && n > TOGETHER && simd_level() == SIMD_AVX512) {
        size_t blocks = replace_blocks(out, text, n, byte, content, len);
        text += blocks;
        n -= blocks;
    }
#endif
    memcpy(with, content, len);
    for (size_t i = 0; i < n; i += ASCII_BLOCK) {
        const unsigned char *p = (const unsigned char *)text + i;
        if (n - i < ASCII_BLOCK) {
            memset(block, byte + 1, sizeof block);
            p = memcpy(block, p, n - i);
        }
        if (i % REPLACED == 0)
            buf_reserve(out, i - done + REPLACED * sizeof with + PART);
        char *to = out->data + out->len;
        for (uint64_t bits = ascii_find(p, (unsigned char)byte); bits; bits &= bits - 1) {
            size_t at = i + (size_t)__builtin_ctzll(bits);
            to = put_part(to, text + done, at - done, n - done);
            memcpy(to, with, sizeof with);
            to += len;
            done = at + 1;
        }
        out->len = (size_t)(to - out->data);
    }
    buf_add(out, text + done, n - done);
    buf_truncate(out, out->len);
}

/* Sets the error if steps made more than 16 MiB and 16 times a text of n bytes: replacements that
 * are replaced again could take all memory. Returns -1 then, else 0. */
static int check_growth(size_t made, size_t n)
{
    return made > 16 << 20 && made / 16 > n
               ? err_set("the normalizer's replacements make %zu bytes of %zu", made, n)
               : 0;
}

int steps_replace(const struct step *step, struct regex_scratch *scratch, const char *text,
                  size_t n, struct buf *out)
{
    const size_t before = out->len;
    size_t done = 0, begin, end;
    int got;
    if (step->text && step->len == 1 && step->content_len <= 4) {
        replace_byte(out, text, n, *step->text, step->content, step->content_len);
        return 0;
    }
    while (done < n && (got = steps_find(step, scratch, text, n, done, &begin, &end)) != 0) {
        if (got < 0)
            return -1;
        buf_add(out, text + done, begin - done);
        buf_add(out, step->content, step->content_len);
        done = end;
        if (check_growth(out->len - before, n) < 0)
            return -1;
    }
    buf_add(out, text + done, n - done);
    return 0;
}

void steps_strip(const struct step *step, const char *text, size_t n, size_t *begin, size_t *end)
{
    unsigned last;
    size_t len;
    *begin = 0;
    *end = n;
    while (step->left && *begin < *end &&
           unicode_is(utf8_get((const unsigned char *)text + *begin, &len), UNICODE_IS_SPACE))
        *begin += len;
    while (step->right && (len = utf8_last(text + *begin, *end - *begin, &last)) &&
           unicode_is(last, UNICODE_IS_SPACE))
        *end -= len;
}

static void put_replaced(void *out, const char *old, size_t n, const char *new)
{
    if (new)
        buf_adds(out, new);
    else
        buf_add(out, old, n);
}

int steps_normalize(const struct step *step, struct regex_scratch *scratch, const char *text,
                    size_t n, struct buf *out)
{
    size_t begin, end;
    switch (step->kind) {
    case STEP_NFD:
    case STEP_NFKD:
    case STEP_NFC:
    case STEP_NFKC:
        forms_normalize(out, text, n, (enum form)(FORM_NFD + (int)(step->kind - STEP_NFD)));
        return 0;
    case STEP_LOWERCASE: letter_case_put(out, text, n, letter_case_lower_new); return 0;
    case STEP_STRIP_ACCENTS: forms_drop(out, text, n, UNICODE_IS_MARK); return 0;
    case STEP_NMT: forms_nmt(out, text, n); return 0;
    case STEP_STRIP:
        steps_strip(step, text, n, &begin, &end);
        buf_add(out, text + begin, end - begin);
        return 0;
    case STEP_REPLACE: return steps_replace(step, scratch, text, n, out);
    case STEP_PREPEND:
        buf_add(out, step->content, n ? step->content_len : 0);
        buf_add(out, text, n);
        return 0;
    case STEP_APPEND:
        buf_add(out, text, n);
        buf_add(out, step->content, n ? step->content_len : 0);
        return 0;
    case STEP_PRECOMPILED:
        if (step->regex)
            return charsmap_trace(step->map, step->regex, scratch, text, n, put_replaced, out);
        charsmap_longest(step->map, out, text, n);
        return 0;
    case STEP_CLEAN: normalize_clean(out, text, n); return 0;
    case STEP_SPACE_CHINESE: normalize_space_chinese(out, text, n); return 0;
    default: forms_drop(out, text, n, UNICODE_IS_NON_SPACING); return 0;
    }
}

/* Returns 1 if the step drops the first character of the text and puts nothing in its place, else
 * 0. Hugging Face's tokenizers do not notice what a character map drops there. */
static int loses_first(struct stepper *s, const struct step *step, const char *text, size_t n)
{
    SCOPED(buf) made = BUF_INIT;
    struct step left = *step;
    size_t len = 0, begin = 0, end = 0;
    if (!n || step->kind == STEP_PREPEND || step->kind == STEP_APPEND ||
        step->kind == STEP_PRECOMPILED)
        return 0;
    if (step->kind == STEP_REPLACE)
        return !step->content_len && steps_find(step, s->scratch, text, n, 0, &begin, &end) > 0 &&
               !begin;
    utf8_get((const unsigned char *)text, &len);
    left.right = 0;
    return steps_normalize(&left, s->scratch, text, len, &made) == 0 && !made.len;
}

static int leaves(const struct step *step, const char *text, size_t n)
{
    switch (step->kind) {
    case STEP_NFD:
    case STEP_NFKD:
    case STEP_NFC:
    case STEP_NFKC:
        return forms_stable(text, n, (enum form)(FORM_NFD + (int)(step->kind - STEP_NFD))) == n;
    case STEP_REPLACE: return step->text && !memmem(text, n, step->text, step->len);
    default: return 0;
    }
}

int stepper_leaves(struct stepper *s, const char *text, size_t n)
{
    for (size_t i = 0; i < s->normalizer->count; i++)
        if (!leaves(&s->normalizer->items[i], text, n))
            return 0;
    return 1;
}

int stepper_normalize(struct stepper *s, const char *text, size_t n, struct buf *out, int *lost,
                      struct ids *origins)
{
    const size_t last = s->normalizer->count - 1, given = n;
    *lost = 0;
    if (!s->normalizer->count)
        buf_add(out, text, n);
    for (size_t i = 0; i < s->normalizer->count; i++) {
        const struct step *step = &s->normalizer->items[i];
        struct buf *to = i == last ? out : &s->next;
        *lost |= loses_first(s, step, text, n);
        buf_clear(&s->next);
        const size_t before = to->len;
        if (steps_normalize(step, s->scratch, text, n, to) < 0 ||
            check_growth(to->len - before, given) < 0 ||
            (origins && s->follow(origins, step, s->scratch, text, n, to->len - before) < 0))
            return -1;
        buf_swap(&s->now, &s->next);
        text = s->now.data;
        n = s->now.len;
    }
    return 0;
}

/* ---- cutting --------------------------------------------------------------------------------- */

static void add_piece(struct cut *c, size_t begin, size_t end)
{
    if (begin == end)
        return;
    mem_grow(c->begins, c->begins_cap, c->count + 1);
    mem_grow(c->ends, c->ends_cap, c->count + 1);
    c->begins[c->count] = begin;
    c->ends[c->count++] = end;
}

static void add_tile(struct stepper *s, size_t begin, size_t end, int match)
{
    if (begin == end)
        return;
    mem_grow(s->is_match, s->is_match_cap, s->tiles.count + 1);
    s->is_match[s->tiles.count] = (unsigned char)match;
    add_piece(&s->tiles, begin, end);
}

static int tile_by_pattern(struct stepper *s, const struct step *step, const char *text, size_t n)
{
    size_t done = 0, begin, end;
    int got = 0;
    while (done < n && (got = steps_find(step, s->scratch, text, n, done, &begin, &end)) > 0) {
        add_tile(s, done, begin, step->invert);
        add_tile(s, begin, end, !step->invert);
        done = end;
    }
    add_tile(s, done, n, step->invert);
    return got < 0 ? -1 : 0;
}

static void tile_by_characters(struct stepper *s, const struct step *step, const char *text,
                               size_t n)
{
    size_t done = 0, len;
    int row = step->kind == STEP_RUNS, inside = 0;
    for (size_t i = 0; i < n; i += len) {
        int match = unicode_is(utf8_get((const unsigned char *)text + i, &len), step->bits);
        if (match ? !(row && inside) : inside) {
            add_tile(s, done, i, inside);
            done = i;
        }
        inside = match;
    }
    add_tile(s, done, n, inside);
}

/* The kind of a character in the pattern \w+|[^\w\s]+. */
enum kind { KIND_OTHER, KIND_WORD, KIND_SPACE };

static enum kind kind_of(uint32_t c)
{
    return unicode_is(c, UNICODE_IS_WORD)    ? KIND_WORD
           : unicode_is(c, UNICODE_IS_SPACE) ? KIND_SPACE
                                             : KIND_OTHER;
}

/* The kinds of 64 bytes of text, as bits. All bytes of a character have its kind. */
struct kind_masks {
    uint64_t words, spaces;
};

/* Adds the characters of a block that are not ASCII to *m. `high` has the bits of their bytes.
 * *last is the kind of the last such character so far, which may end in this block; the function
 * updates it. */
static void add_high(struct kind_masks *m, const unsigned char *block, uint64_t high,
                     enum kind *last)
{
    size_t len;
    for (; high; high &= high - 1) {
        int i = __builtin_ctzll(high);
        if ((block[i] & 0xC0) != 0x80)
            *last = kind_of(utf8_get(block + i, &len));
        m->words |= (uint64_t)(*last == KIND_WORD) << i;
        m->spaces |= (uint64_t)(*last == KIND_SPACE) << i;
    }
}

static struct kind_masks kinds_of(const unsigned char *block, enum kind *last)
{
    struct ascii_masks a;
    ascii_classify(&a, NULL, block);
    struct kind_masks m = { a.letters | a.digits, a.spaces };
    for (const unsigned char *p = block; (p = memchr(p, '_', (size_t)(block + ASCII_BLOCK - p)));
         p++)
        m.words |= (uint64_t)1 << (p - block);
    if (a.high)
        add_high(&m, block, a.high, last);
    return m;
}

/* Cuts text[at..at+n) into runs of word characters and runs of other characters; leaves out white
 * space. */
static void put_words(const char *text, size_t at, size_t n, struct cut *out)
{
    unsigned char end[ASCII_BLOCK + 4];
    enum kind last = KIND_OTHER;
    uint64_t word = 0, space = 1; /* kinds of the byte before the block, as bit 0 */
    size_t begins = out->count, ends = out->count;
    for (size_t i = 0; i <= n; i += ASCII_BLOCK) {
        const unsigned char *block = (const unsigned char *)text + at + i;
        if (n - i < sizeof end) { /* a space stands for the end of the text */
            memset(end, ' ', sizeof end);
            memcpy(end, block, n - i);
            block = end;
        }
        struct kind_masks m = kinds_of(block, &last);
        uint64_t words = m.words << 1 | word, spaces = m.spaces << 1 | space;
        uint64_t changes = (m.words ^ words) | (m.spaces ^ spaces);
        mem_grow(out->begins, out->begins_cap, begins + ASCII_BLOCK);
        mem_grow(out->ends, out->ends_cap, ends + ASCII_BLOCK);
        begins += ascii_places(out->begins + begins, changes & ~m.spaces, at + i);
        ends += ascii_places(out->ends + ends, changes & ~spaces, at + i);
        word = m.words >> 63;
        space = m.spaces >> 63;
    }
    out->count = ends;
}

/* Appends the tiles s->tiles (matches and the text between them) to `out` as pieces, according to
 * `behavior`. Their text begins at byte `at` of out->text. A match is merged with a neighbour only
 * if that neighbour is not a match. */
static void put_tiles(struct stepper *s, enum step_behavior behavior, size_t at, struct cut *out)
{
    const struct cut *t = &s->tiles;
    for (size_t i = 0; i < t->count; i++) {
        int match = s->is_match[i], before = i ? s->is_match[i - 1] : -1;
        int joins = 0; /* whether the tile joins the piece before it */
        if (behavior == STEP_CONTIGUOUS)
            joins = match == before;
        else if (behavior == STEP_MERGED_WITH_PREVIOUS)
            joins = match && before == 0;
        else if (behavior == STEP_MERGED_WITH_NEXT)
            joins = !match && before == 1;
        if (joins)
            out->ends[out->count - 1] = at + t->ends[i];
        else if (!match || behavior != STEP_REMOVED)
            add_piece(out, at + t->begins[i], at + t->ends[i]);
    }
}

static int cut_piece(struct stepper *s, const struct step *step, size_t at, size_t n,
                     const char *text, struct cut *out)
{
    s->tiles.count = 0;
    if (step->kind == STEP_WHITESPACE) {
        put_words(text, at, n, out);
        return 0;
    }
    if (step->kind != STEP_SPLIT)
        tile_by_characters(s, step, text + at, n);
    else if (tile_by_pattern(s, step, text + at, n) < 0)
        return -1;
    put_tiles(s, step->behavior, at, out);
    return 0;
}

/* ---- pieces that change ---------------------------------------------------------------------- */

static int begins_with(const char *text, size_t n, const char *with, size_t len)
{
    return n >= len && !memcmp(text, with, len);
}

/* Appends a piece with spaces replaced by the step's character; cuts before each such character if
 * step->split is set. `first` 1: the piece begins a document, so STEP_FIRST puts the character in
 * front of it. */
static void put_metaspace(const struct step *step, const char *text, size_t n, int first,
                          struct cut *out)
{
    size_t at = out->text.len, begin = at;
    int prepend = step->scheme == STEP_ALWAYS || (step->scheme == STEP_FIRST && first);
    if (prepend && text[0] != ' ' && !begins_with(text, n, step->content, step->content_len))
        buf_add(&out->text, step->content, step->content_len);
    replace_byte(&out->text, text, n, ' ', step->content, step->content_len);
    for (size_t i = at + 1; i < out->text.len && step->split; i++) {
        if (begins_with(out->text.data + i, out->text.len - i, step->content, step->content_len)) {
            add_piece(out, begin, i);
            begin = i;
        }
    }
    add_piece(out, begin, out->text.len);
}

static void put_byte_level(const struct step *step, const char *text, size_t n, struct cut *out)
{
    size_t at = out->text.len, begin = 0, ends[64];
    struct gpt2 pieces;
    if (step->scheme == STEP_ALWAYS && text[0] != ' ')
        buf_addc(&out->text, ' ');
    buf_add(&out->text, text, n);
    if (!step->split) {
        add_piece(out, at, out->text.len);
        return;
    }
    gpt2_begin(&pieces, out->text.data + at, out->text.len - at);
    for (int count; (count = gpt2_next(&pieces, ends, 64));)
        for (int i = 0; i < count; begin = ends[i++])
            add_piece(out, at + begin, at + ends[i]);
}

/* Appends to to->origins the origins of the bytes that a step has written for the piece [begin,
 * begin + n) of from->text. Text that was put in front has the origin of the piece's first byte. A
 * character that STEP_METASPACE writes in place of a space has the origin of the space. */
static void put_origins(const struct step *step, const struct cut *from, size_t begin, size_t n,
                        struct cut *to)
{
    const char *text = from->text.data + begin;
    const int meta = step->kind == STEP_METASPACE;
    size_t made = 0, at = to->origins.count;
    for (size_t i = 0; i < n; i++)
        made += meta && text[i] == ' ' ? step->content_len : 1;
    for (; to->text.len - at > made; at++)
        ids_add(&to->origins, from->origins.data[begin]);
    for (size_t i = 0; i < n; i++)
        for (size_t k = meta && text[i] == ' ' ? step->content_len : 1; k; k--)
            ids_add(&to->origins, from->origins.data[begin + i]);
}

static int changes_text(const struct step *step)
{
    return step->kind == STEP_METASPACE || step->kind == STEP_BYTE_LEVEL;
}

/* Applies one step to s->pieces; the result is in s->made. `first` is as for stepper_cut. */
static int cut_step(struct stepper *s, const struct step *step, int first)
{
    const struct cut *from = &s->pieces;
    struct cut *to = &s->made;
    to->count = 0;
    buf_clear(&to->text);
    to->origins.count = 0;
    if (!changes_text(step)) {
        buf_add(&to->text, from->text.data, from->text.len);
        ids_append(&to->origins, from->origins.data, from->origins.count);
    }
    for (size_t i = 0; i < from->count; i++) {
        const char *text = from->text.data + from->begins[i];
        size_t n = from->ends[i] - from->begins[i];
        if (step->kind == STEP_METASPACE)
            put_metaspace(step, text, n, first && !i && !from->begins[0], to);
        else if (step->kind == STEP_BYTE_LEVEL)
            put_byte_level(step, text, n, to);
        else if (cut_piece(s, step, from->begins[i], n, to->text.data, to) < 0)
            return -1;
        if (s->follow && changes_text(step))
            put_origins(step, from, from->begins[i], n, to);
    }
    return 0;
}

void stepper_keep_origins(struct stepper *s, step_follower *follow)
{
    s->follow = follow;
}

const struct ids *stepper_origins(const struct stepper *s)
{
    return s->cuts->count ? &s->pieces.origins : NULL;
}

int stepper_cut(struct stepper *s, const char *text, size_t n, int first, struct pieces *p)
{
    s->pieces.count = 0;
    add_piece(&s->pieces, 0, n);
    if (!s->cuts->count) { /* the text is one piece and need not be copied */
        *p = (struct pieces){ text, n, s->pieces.begins, s->pieces.ends, s->pieces.count, NULL };
        return 0;
    }
    buf_set(&s->pieces.text, text, n);
    s->pieces.origins.count = 0;
    if (s->follow)
        ids_add_range(&s->pieces.origins, 0, n);
    for (size_t i = 0; i < s->cuts->count; i++) {
        if (cut_step(s, &s->cuts->items[i], first) < 0)
            return -1;
        /* A step may change the first piece, but that piece still begins where the text begins. */
        struct cut spare = s->pieces;
        s->pieces = s->made;
        s->made = spare;
    }
    *p = (struct pieces){ s->pieces.text.data, s->pieces.text.len, s->pieces.begins,
                          s->pieces.ends,      s->pieces.count,    NULL };
    return 0;
}
