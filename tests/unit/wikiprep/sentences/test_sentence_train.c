/* What is learned from text: abbreviations, numbers, openers, ordinals. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "wikiprep/sentences/sentence.h"
#include "wikiprep/sentences/sentence_train.h"

/* Trains with texts of made-up words: "zk." is an abbreviation before names, "num." stands before
 * numbers (but "num" is also a word), "Deho" begins sentences, "Moru" is a name. */
static void add_language(struct sentence_trainer *t, const char *ordinal)
{
    static const char *const words[] = { "kelanu", "wobena", "lasuke", "mirota",
                                         "fenuli", "sodaki", "purema" };
    struct buf text = BUF_INIT;
    for (int i = 0; i < 210; i++) {
        const char *a = words[i % 7], *b = words[(i + 1 + i / 7 % 6) % 7]; /* all pairs */
        buf_addf(&text, "Deho %s fasi zk. Moru %s. Deho fasi %s num. %d %s. ", a, b, b, i, a);
        buf_addf(&text, "Moru %s num %s Moru deho %s. %s %d%s fasi %s.\n", a, b, a, "Lukota",
                 i % 30, ordinal, b);
    }
    sentence_trainer_add(t, text.data, text.len);
    buf_release(&text);
}

static void learn(struct buf *table, const char *ordinal)
{
    struct sentence_trainer *t = sentence_trainer_new();
    add_language(t, ordinal);
    buf_clear(table);
    cr_assert(sentence_trainer_finish(t, table) == 0, "%s", err_get());
    sentence_trainer_free(t);
}

Test(sentence_train, learns_each_kind)
{
    struct buf table = BUF_INIT;
    learn(&table, "");
    cr_expect_str_eq(table.data, "textmill sentences 1\n# learned from 4830 words\n"
                                 "abbreviation zk\nnumber num\nopener deho\n");
    learn(&table, ".");
    cr_expect_str_eq(table.data, "textmill sentences 1\n# learned from 4830 words\n"
                                 "abbreviation zk\nnumber num\nopener deho\nordinals\n");
    buf_release(&table);
}

Test(sentence_train, what_is_learned_is_of_use)
{
    struct buf table = BUF_INIT, out = BUF_INIT;
    const char *text = "Wobena zk. Moru. Fasi zk. Deho num. 5 num. Fasi 3. Moru kelanu 3. Deho.";
    learn(&table, ".");
    struct sentence_model *m = sentence_model_new("");
    sentence_split(m, &out, text, strlen(text));
    cr_expect_str_eq(
        out.data,
        "Wobena zk.\nMoru.\nFasi zk.\nDeho num.\n5 num.\nFasi 3.\nMoru kelanu 3.\nDeho.\n");
    cr_assert(sentence_model_parse(m, table.data, table.len, "table") == 0, "%s", err_get());
    buf_clear(&out);
    sentence_split(m, &out, text, strlen(text));
    cr_expect_str_eq(
        out.data, "Wobena zk. Moru.\nFasi zk.\nDeho num. 5 num.\nFasi 3. Moru kelanu 3.\nDeho.\n");
    sentence_model_free(m);
    buf_release(&table);
    buf_release(&out);
}

Test(sentence_train, pieces_make_no_difference)
{
    struct sentence_trainer *t = sentence_trainer_new(), *lines = sentence_trainer_new();
    struct buf text = BUF_INIT, whole = BUF_INIT, pieces = BUF_INIT;
    for (int i = 0; i < 500; i++)
        buf_adds(&text, "Deho wobena lasuke zk. Moru kelanu.\nMoru num. 5 deho.\n");
    sentence_trainer_add(t, text.data, text.len);
    for (const char *s = text.data, *lf; (lf = strchr(s, '\n')); s = lf + 1)
        sentence_trainer_add(lines, s, (size_t)(lf - s));
    cr_assert(sentence_trainer_finish(t, &whole) == 0);
    cr_assert(sentence_trainer_finish(lines, &pieces) == 0);
    cr_expect_str_eq(whole.data, pieces.data);
    sentence_trainer_free(t);
    sentence_trainer_free(lines);
    buf_release(&text);
    buf_release(&whole);
    buf_release(&pieces);
}

Test(sentence_train, many_words)
{
    struct sentence_trainer *t = sentence_trainer_new();
    struct buf text = BUF_INIT;
    for (int i = 0; i < 300000; i++)
        buf_addf(&text, "w%c%c%c%c zk. Anna%c", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676 % 26,
                 'a' + i / 17576 % 26, i % 100 ? ' ' : '\n');
    sentence_trainer_add(t, text.data, text.len);
    buf_clear(&text);
    cr_assert(sentence_trainer_finish(t, &text) == 0);
    cr_expect_str_eq(text.data,
                     "textmill sentences 1\n# learned from 900000 words\nabbreviation zk\n");
    sentence_trainer_free(t);
    buf_release(&text);
}

Test(sentence_train, too_little_text)
{
    struct sentence_trainer *t = sentence_trainer_new();
    struct buf table = BUF_INIT;
    sentence_trainer_add(t, "Two words", 9);
    cr_expect(sentence_trainer_finish(t, &table) == -1);
    cr_expect_str_eq(err_get(),
                     "cannot learn where sentences end from 2 words: at least 1000 are needed");
    sentence_trainer_free(t);
    buf_release(&table);
}
