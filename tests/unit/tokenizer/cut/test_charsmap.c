/* A precompiled character map must replace the same strings with every instruction set. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/rng.h"
#include "common/base/simd.h"
#include "tokenizer/cut/charsmap.h"
#include "tokenizer/cut/origins.h"

enum { UNITS = 1 << 13, ROW = 256 };

/* A map that is being made. Its trie has the children of each node in a row of their own. */
struct made {
    uint32_t units[UNITS], rows;
    struct buf texts;
};

/* Returns the first unit of the row with the children of a node, and makes it if it is not there.
 * Bits 10 and higher of a unit are its index ^ that first unit. */
static uint32_t row_of(struct made *m, uint32_t node)
{
    if (!(m->units[node] >> 10))
        m->units[node] |= (node ^ (++m->rows * ROW)) << 10;
    cr_assert_lt((m->rows + 1) * ROW, UNITS);
    return m->units[node] >> 10 ^ node;
}

static void put(struct made *m, const char *from, const char *to)
{
    uint32_t node = 0;
    for (; *from; from++) {
        node = row_of(m, node) ^ (unsigned char)*from;
        m->units[node] |= (unsigned char)*from;
    }
    uint32_t value = row_of(m, node);
    m->units[node] |= 1 << 8;
    m->units[value] = (uint32_t)m->texts.len | 1u << 31;
    buf_add(&m->texts, to, strlen(to) + 1);
}

static struct charsmap *make(struct made *m)
{
    struct buf bytes = BUF_INIT;
    const uint32_t size = sizeof m->units;
    for (int i = 0; i < 4; i++)
        buf_addc(&bytes, (int)(size >> 8 * i & 0xFF));
    for (int i = 0; i < UNITS; i++)
        for (int k = 0; k < 4; k++)
            buf_addc(&bytes, (int)(m->units[i] >> 8 * k & 0xFF));
    buf_add(&bytes, m->texts.data, m->texts.len);
    struct charsmap *map = charsmap_new(bytes.data, bytes.len);
    cr_assert(map, "%s", err_get());
    buf_release(&bytes);
    return map;
}

static void put_traced(void *ctx, const char *old, size_t n, const char *new)
{
    buf_add(ctx, new ? new : old, new ? strlen(new) : n);
}

Test(charsmap, longest_strings_are_replaced_with_every_instruction_set)
{
    static const char *const parts[] = { "a",  "b",  " ", "A", "\n",       "f",
                                         "\t", "ff", "z", "e", "\xCC\x81", "\xC3\xA9" };
    static struct made m = { .texts = BUF_INIT };
    struct buf text = BUF_INIT, want = BUF_INIT, got = BUF_INIT;
    struct rng r = { rng_key(0, 12), 0 };
    put(&m, "A", "a");
    put(&m, "\n", " ");
    put(&m, "\t", "");
    put(&m, "ff", "F");
    put(&m, "z", "ts");
    put(&m, "e\xCC\x81", "\xC3\xA9");
    put(&m, "\xC3\xA9", "e");
    struct charsmap *map = make(&m);
    for (int i = 0; i < 3000; i++) {
        uint64_t usual = 1 + rng_below(&r, 12);
        buf_clear(&text);
        buf_clear(&want);
        for (uint64_t n = rng_below(&r, 400); n; n--) /* long parts without a replacement, too */
            buf_adds(&text, parts[rng_below(&r, rng_below(&r, 60) ? usual : 12)]);
        cr_assert_eq(charsmap_trace(map, NULL, NULL, text.data, text.len, put_traced, &want), 0);
        for (int level = 0; level < SIMD_LEVELS; level++) {
            if (simd_use((enum simd_level)level) < 0)
                continue;
            buf_clear(&got);
            charsmap_longest(map, &got, text.data, text.len);
            cr_assert(got.len == want.len && !memcmp(got.data, want.data, got.len),
                      "level %d: '%s' became '%s'", level, text.data, got.data);
        }
    }
    /* kept texts come before those of the map, and the longest first */
    static const char *const kept[] = { "e", "ff", "fffz", "A b", "aA" };
    charsmap_keep(map, kept, sizeof kept / sizeof *kept);
    buf_clear(&text);
    buf_clear(&got);
    buf_clear(&want);
    buf_adds(&text, "e\xCC\x81 fff fffz A bA aAz");
    cr_assert_eq(charsmap_trace(map, NULL, NULL, text.data, text.len, put_traced, &want), 0);
    charsmap_longest(map, &got, text.data, text.len);
    cr_expect_str_eq(got.data, "e\xCC\x81 fff fffz A ba aAts");
    cr_expect_str_eq(want.data, got.data);
    charsmap_free(map);
    buf_release(&m.texts);
    buf_release(&text);
    buf_release(&want);
    buf_release(&got);
}

/* New characters take the places of old ones; what is left of either is inserted or removed. These
 * are the offsets of Hugging Face's tokenizers 0.23. */
Test(charsmap, origins)
{
    static const struct {
        const char *text;
        uint32_t origins[8]; /* of each byte of what is made of it */
    } cases[] = {
        { "azb", { 0, 1, 1, 2 } },    /* atsb */
        { "affA", { 0, 1, 3 } },      /* aFa */
        { "a\t\tb", { 0, 3 } },       /* ab */
        { "\xC3\xA9z", { 0, 2, 2 } }, /* ets */
        { "\taz", { 0, 1, 1 } },      /* ats: nothing is before \t to say that it is gone */
    };
    static struct made m = { .texts = BUF_INIT };
    put(&m, "A", "a");
    put(&m, "\t", "");
    put(&m, "ff", "F");
    put(&m, "z", "ts");
    put(&m, "\xC3\xA9", "e");
    const struct step step = { .kind = STEP_PRECOMPILED, .map = make(&m) };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t n = strlen(cases[i].text);
        SCOPED(buf) out = BUF_INIT;
        SCOPED(ids) origins = { 0 };
        ids_add_range(&origins, 0, (uint32_t)n);
        cr_assert_eq(steps_normalize(&step, NULL, cases[i].text, n, &out), 0, "%s", err_get());
        cr_assert_eq(origins_follow(&origins, &step, NULL, cases[i].text, n, out.len), 0, "%s",
                     err_get());
        cr_expect_arr_eq(origins.data, cases[i].origins, out.len * sizeof *origins.data, "%s",
                         cases[i].text);
    }
    charsmap_free(step.map);
    buf_release(&m.texts);
}

/* What a damaged map makes of a text is UTF-8, too: a string or a replacement that has only a part
 * of a character has no effect. */
Test(charsmap, parts_of_characters)
{
    static const char text[] = "\xC3\xA9 q";
    static struct made m = { .texts = BUF_INIT };
    struct buf got = BUF_INIT, traced = BUF_INIT;
    put(&m, "\xC3", "x");
    const uint32_t value = (uint32_t)m.texts.len | 1u << 31;
    put(&m, "q", "\xC3\xA9");
    for (int i = 0; i < UNITS; i++)
        m.units[i] += m.units[i] == value;
    struct charsmap *map = make(&m);
    charsmap_longest(map, &got, text, strlen(text));
    cr_assert_eq(charsmap_trace(map, NULL, NULL, text, strlen(text), put_traced, &traced), 0);
    cr_expect_str_eq(got.data, text);
    cr_expect_str_eq(traced.data, text);
    charsmap_free(map);
    buf_release(&m.texts);
    buf_release(&got);
    buf_release(&traced);
}
