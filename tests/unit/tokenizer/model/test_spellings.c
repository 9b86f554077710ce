#include <criterion/criterion.h>
#include <string.h>

#include "common/base/ids.h"
#include "common/base/rng.h"
#include "tokenizer/model/spellings.h"

enum { COUNT = 300, BYTE = COUNT - 2, HOLE = COUNT - 1 };

/* Token `id` has (7 * id) % 40 bytes, each of them id % 251. */
static size_t text_of(uint32_t id, char *text)
{
    const size_t n = 7 * id % 40;
    memset(text, (int)(id % 251), n);
    return n;
}

Test(spellings, texts_of_all_lengths_are_joined)
{
    struct spellings s;
    struct rng r = { rng_key(0, 8), 0 };
    char text[40];
    spellings_init(&s, COUNT);
    for (uint32_t id = 0; id < BYTE; id++)
        cr_assert_eq(spellings_set(&s, id, text, text_of(id, text)), 0);
    for (int round = 0; round < 20; round++) {
        struct ids ids = { 0 };
        struct buf want = BUF_INIT, got = BUF_INIT;
        buf_adds(&want, "before");
        buf_adds(&got, "before");
        for (uint64_t n = rng_below(&r, 20000); n; n--) {
            ids_add(&ids, (uint32_t)rng_below(&r, round % 2 ? BYTE : 3));
            buf_add(&want, text, text_of(ids.data[ids.count - 1], text));
        }
        cr_assert_eq(spellings_put(&s, ids.data, ids.count, &got), ids.count);
        cr_assert(got.len == want.len && !memcmp(got.data, want.data, got.len + 1));
        ids_release(&ids);
        buf_release(&want);
        buf_release(&got);
    }
    spellings_release(&s);
}

Test(spellings, ids_without_a_text_end_the_run)
{
    static const uint32_t others[] = { BYTE, HOLE, COUNT, UINT32_MAX };
    struct spellings s;
    spellings_init(&s, COUNT);
    cr_assert_eq(spellings_set(&s, 1, "one", 3), 0);
    s.items[BYTE] = (struct spelling){ { (char)0xC3 }, SPELLING_BYTE };
    s.items[HOLE].len = SPELLING_HOLE;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const uint32_t ids[] = { 1, 1, others[i], 1 };
        struct buf got = BUF_INIT;
        cr_expect_eq(spellings_put(&s, ids, 4, &got), 2);
        cr_expect_str_eq(got.data, "oneone");
        buf_release(&got);
    }
    cr_expect_eq(s.items[BYTE].text[0], (char)0xC3);
    spellings_release(&s);
}

/* An ASCII character is a text of its own only if no byte token or hole stands behind it: the bytes
 * of a run decide together whether they are valid. */
Test(spellings, lone_ascii_bytes_are_texts)
{
    enum { TEXT = 1, LINE = 2 };
    static const struct {
        uint32_t ids[4];
        size_t done;
        const char *text;
    } cases[] = {
        { { TEXT, LINE, TEXT, LINE }, 3, "one\none" },
        { { LINE, TEXT, TEXT, TEXT }, 4, "\noneoneone" },
        { { TEXT, LINE, LINE, TEXT }, 1, "one" },
        { { TEXT, LINE, BYTE, TEXT }, 1, "one" },
        { { TEXT, LINE, HOLE, TEXT }, 1, "one" },
        { { TEXT, BYTE, TEXT, TEXT }, 1, "one" },
        { { TEXT, LINE, COUNT, TEXT }, 1, "one" },
    };
    struct spellings s;
    spellings_init(&s, COUNT);
    cr_assert_eq(spellings_set(&s, TEXT, "one", 3), 0);
    s.items[LINE] = (struct spelling){ { '\n' }, SPELLING_BYTE };
    s.items[BYTE] = (struct spelling){ { (char)0xC3 }, SPELLING_BYTE };
    s.items[HOLE].len = SPELLING_HOLE;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf got = BUF_INIT;
        cr_expect_eq(spellings_put(&s, cases[i].ids, 4, &got), cases[i].done, "case %zu", i);
        cr_expect_str_eq(got.data, cases[i].text, "case %zu", i);
        buf_release(&got);
    }
    spellings_release(&s);
}
