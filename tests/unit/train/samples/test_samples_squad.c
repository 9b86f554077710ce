/* Samples for questions: windows of a file as rows, and rows that are made. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/files/file.h"
#include "tests/unit/temp_file.h"
#include "train/samples/samples.h"

static const char text[] =
    "{\"data\":[{\"paragraphs\":[{\"context\":\"a blue cup and the red ball\",\"qas\":["
    "{\"id\":\"1\",\"question\":\"where?\",\"answers\":[{\"text\":\"red ball\",\"answer_start\":19}]},"
    "{\"id\":\"2\",\"question\":\"where?\",\"answers\":[{\"text\":\"moon\",\"answer_start\":0}]},"
    "{\"id\":\"3\",\"question\":\"where is the cup?\",\"answers\":[]}]}]}]}";

static struct samples *open_text(const struct samples_config *c)
{
    char *path = temp_file(text, sizeof text - 1);
    const char *paths[] = { path };
    struct samples *s = samples_open_squad(c, &(struct opt_list){ paths, 1, 1 }, "the data");
    drop_file(path);
    return s;
}

Test(samples_squad, windows_are_rows)
{
    struct tokenizer *t = tokenizer_load("tests/data/finder");
    cr_assert(t, "%s", err_get());
    struct samples *s = open_text(&(struct samples_config){ .T = 24, .tokenizer = t, .stride = 8 });
    struct sequences out;
    struct buf said = BUF_INIT;
    cr_assert(s, "%s", err_get());
    cr_assert_eq(s->count, 2);
    sequences_init(&out, 2, 24, 1);
    for (uint64_t i = 0; i < s->count; i++)
        cr_assert_eq(s->read(s, i, &out), 0);
    /* [CLS] where ? [SEP], seven words, [SEP] */
    cr_expect(out.lengths[0] == 12 && out.starts[0] == 9 && out.ends[0] == 10, "%lld %d %d",
              (long long)out.lengths[0], out.starts[0], out.ends[0]);
    cr_expect(out.segments[3] == 0 && out.segments[4] == 1 && out.segments[11] == 1 &&
              out.segments[12] == 0);
    cr_expect(out.ids[0] == (uint32_t)tokenizer_role(t, TOKENIZER_CLS) &&
              out.ids[12] == (uint32_t)tokenizer_role(t, TOKENIZER_PAD));
    cr_expect(out.lengths[1] == 15 && !out.starts[1] && !out.ends[1], "no answer is [CLS]");
    cr_expect_eq(s->tokens, 27);
    s->describe(s, "x_", 0, &said);
    cr_expect_str_eq(
        said.data,
        "x_questions=3\nx_windows=2\nx_unanswerable=1\nx_answers_nowhere=1\nx_dropped_questions=1\n");
    buf_release(&said);
    sequences_release(&out);
    samples_close(s);
    tokenizer_free(t);
}

Test(samples_squad, made_answers_lie_in_the_context)
{
    enum { ROWS = 200 };
    for (int64_t T = 1; T <= 33; T += 16) {
        struct samples *s = samples_make(
            &(struct samples_config){ .T = T, .seed = 5, .vocabulary = 7 }, MADE_ANSWERS);
        struct sequences out;
        sequences_init(&out, ROWS, T, 1);
        for (uint64_t i = 0; i < ROWS; i++)
            cr_assert_eq(s->read(s, i, &out), 0);
        for (int64_t row = 0; row < ROWS; row++)
            cr_assert(out.starts[row] >= T / 8 && out.starts[row] <= out.ends[row] &&
                      out.ends[row] < T);
        for (int64_t i = 0; i < ROWS * T; i++)
            cr_assert(out.ids[i] < 7 && out.segments[i] == (i % T >= T / 8));
        sequences_release(&out);
        samples_close(s);
    }
}

Test(samples_squad, errors)
{
    cr_expect_null(open_text(&(struct samples_config){ .T = 24 }));
    cr_expect_str_eq(err_get(), "no tokenizer for the data: give --vocab");
}
