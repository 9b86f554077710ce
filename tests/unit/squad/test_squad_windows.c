#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "squad/squad_windows.h"

static void add(struct placed *t, uint32_t id, uint32_t begin, uint32_t end)
{
    ids_add(&t->ids, id);
    ids_add(&t->begins, begin);
    ids_add(&t->ends, end);
}

/* A tokenizer for tests: each character but the space is a token, whose id is its code. fails:
 * NULL, otherwise the call fails. */
static int encode(void *fails, struct span text, struct placed *out)
{
    if (fails)
        return err_set("no such luck");
    uint32_t point = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.s[i];
        if ((c & 0xC0) == 0x80)
            continue;
        if (c != ' ')
            add(out, c, point, point + 1);
        point++;
    }
    return 0;
}

static struct squad squad;
static struct squad_windows windows;

static void make(const char *context, const char *question, const char *answers, int training,
                 struct squad_window_rules rules)
{
    struct buf b = BUF_INIT;
    rules.cls = 1;
    rules.sep = 2;
    buf_addf(
        &b,
        "{\"data\":[{\"paragraphs\":[{\"context\":\"%s\",\"qas\":[{\"id\":\"q\",\"question\":\"%s\","
        "\"answers\":[%s]}]}]}]}",
        context, question, answers);
    cr_assert_eq(squad_parse(&squad, b.data, b.len, "s"), 0, "%s", err_get());
    cr_assert_eq(squad_windows_make(&windows, &squad, &rules, training, encode, NULL), 0, "%s",
                 err_get());
    buf_release(&b);
}

static void release(void)
{
    squad_windows_release(&windows);
    squad_release(&squad);
}

static void expect_window(size_t i, uint32_t first, uint32_t count, uint32_t start, uint32_t end)
{
    const struct squad_window *w = &windows.items[i];
    cr_expect(w->first == first && w->count == count && w->start == start && w->end == end,
              "window %zu: %u+%u, answer %u-%u", i, w->first, w->count, w->start, w->end);
}

Test(squad_windows, one_row)
{
    uint32_t ids[10], segments[10];
    make("x yz", "ab", "{\"text\":\"yz\",\"answer_start\":2}", 1,
         (struct squad_window_rules){ .length = 10, .stride = 2, .question_tokens = 4 });
    cr_assert_eq(windows.count, 1);
    expect_window(0, 0, 3, 5, 6);
    cr_expect_eq(squad_window_offset(&windows, 0), 4);
    cr_expect_eq(squad_window_row(&windows, 0, ids, segments), 8);
    const uint32_t want[] = { 1, 'a', 'b', 2, 'x', 'y', 'z', 2, 0, 0 };
    const uint32_t second[] = { 0, 0, 0, 0, 1, 1, 1, 1, 0, 0 };
    cr_expect_arr_eq(ids, want, sizeof want);
    cr_expect_arr_eq(segments, second, sizeof second);
    release();
}

/* Some data sets give an impossible question an empty answer, or a plausible one. */
Test(squad_windows, an_impossible_question_has_no_answer)
{
    static const char text[] =
        "{\"data\":[{\"paragraphs\":[{\"context\":\"x yz\",\"qas\":["
        "{\"id\":\"a\",\"question\":\"?\",\"is_impossible\":true,\"answers\":[{\"text\":\"\",\"answer_start\":-1}]},"
        "{\"id\":\"b\",\"question\":\"?\",\"is_impossible\":true,\"answers\":[{\"text\":\"yz\",\"answer_start\":2}]},"
        "{\"id\":\"c\",\"question\":\"?\",\"is_impossible\":false,\"answers\":[{\"text\":\"yz\",\"answer_start\":2}]}"
        "]}]}]}";
    const struct squad_window_rules rules = {
        .length = 10, .stride = 2, .question_tokens = 4, .cls = 1, .sep = 2
    };
    cr_assert_eq(squad_parse(&squad, text, sizeof text - 1, "s"), 0, "%s", err_get());
    cr_expect_eq(squad.unanswerable, 2);
    cr_assert_eq(squad_windows_make(&windows, &squad, &rules, 1, encode, NULL), 0, "%s", err_get());
    cr_assert(windows.count == 3 && windows.dropped_questions == 0);
    expect_window(0, 0, 3, 0, 0);
    expect_window(1, 0, 3, 0, 0);
    expect_window(2, 0, 3, 4, 5);
    release();
}

Test(squad_windows, neighbours_share_the_stride)
{
    /* Room for 5 tokens, 2 of them shared: a step of 3. */
    make("abcdefghijk", "?!", "{\"text\":\"def\",\"answer_start\":3}", 1,
         (struct squad_window_rules){ .length = 10, .stride = 2, .question_tokens = 4 });
    cr_assert_eq(windows.count, 3);
    expect_window(0, 0, 5, 0, 0);
    expect_window(1, 3, 5, 4, 6);
    expect_window(2, 6, 5, 0, 0);
    release();
}

Test(squad_windows, the_last_is_the_first_that_reaches_the_end)
{
    make("abcdefgh", "?!", "", 1,
         (struct squad_window_rules){ .length = 10, .stride = 2, .question_tokens = 4 });
    cr_assert_eq(windows.count, 2);
    expect_window(1, 3, 5, 0, 0);
    release();
}

Test(squad_windows, google_steps_by_the_stride)
{
    make("abcdefgh", "?!?", "{\"text\":\"c\",\"answer_start\":2}", 1,
         (struct squad_window_rules){
             .google = 1, .length = 10, .stride = 2, .question_tokens = 2 });
    cr_assert_eq(windows.cut_questions, 1);
    cr_assert_eq(windows.count, 3);
    expect_window(0, 0, 5, 6, 6);
    expect_window(1, 2, 5, 4, 4);
    expect_window(2, 4, 4, 0, 0);
    /* Token 2 is in the middle of the first window, 4 in that of the second. */
    cr_expect(squad_window_counts(&windows, 0, 2) && !squad_window_counts(&windows, 1, 2));
    cr_expect(squad_window_counts(&windows, 1, 4) && !squad_window_counts(&windows, 0, 4) &&
              !squad_window_counts(&windows, 2, 4));
    /* Of 3 two windows of equal length have one token on the shorter side; the earlier counts. */
    cr_expect(squad_window_counts(&windows, 0, 3) && !squad_window_counts(&windows, 1, 3));
    /* Of 5 both neighbours have one token on the shorter side; the longer window counts. */
    cr_expect(squad_window_counts(&windows, 1, 5) && !squad_window_counts(&windows, 2, 5));
    release();
}

Test(squad_windows, long_questions)
{
    make("abcdefgh", "0123456", "", 1,
         (struct squad_window_rules){ .length = 12, .stride = 2, .question_tokens = 4 });
    cr_expect_eq(windows.cut_questions, 1); /* 12 - 3 - 7 leaves no more than the stride */
    cr_expect_eq(windows.questions[0].ids.count, 4);
    expect_window(0, 0, 5, 0, 0);
    release();
    make("abcdefgh", "012345", "", 1,
         (struct squad_window_rules){ .length = 12, .stride = 2, .question_tokens = 4 });
    cr_expect_eq(windows.cut_questions, 0);
    expect_window(0, 0, 3, 0, 0);
    cr_expect_eq(windows.count, 6);
    release();
}

Test(squad_windows, answers_without_place)
{
    const struct squad_window_rules rules = { .length = 10, .stride = 2, .question_tokens = 4 };
    make("abc", "?", "{\"text\":\"z\",\"answer_start\":0}", 1, rules);
    cr_expect(windows.count == 0 && windows.dropped_questions == 1 && windows.of_question[1] == 0);
    release();
    make("abc", "?", "{\"text\":\"z\",\"answer_start\":0}", 0, rules);
    cr_expect(windows.count == 1 && windows.dropped_questions == 0);
    expect_window(0, 0, 3, 0, 0);
    release();
    make("", "?", "", 0, rules);
    cr_expect_eq(windows.count, 1);
    expect_window(0, 0, 0, 0, 0);
    release();
}

Test(squad_windows, an_answer_within_tokens)
{
    /* The space belongs to no token: the answer " b" begins behind the first token. */
    make("\xC3\xA9 bc", "?", "{\"text\":\" b\",\"answer_start\":1}", 1,
         (struct squad_window_rules){ .length = 10, .stride = 2, .question_tokens = 4 });
    expect_window(0, 0, 3, 3, 4);
    release();
}

Test(squad_windows, short_rows_do_where_questions_are_short)
{
    make("abcdefgh", "??", "", 0,
         (struct squad_window_rules){ .length = 10, .stride = 4, .question_tokens = 64 });
    cr_assert_eq(windows.count, 4);
    expect_window(1, 1, 5, 0, 0);
    release();
    cr_expect_eq(squad_usual_stride(100), 33);
    cr_expect_eq(squad_usual_stride(384), 128);
    cr_expect_eq(squad_usual_stride(512), 128);
}

Test(squad_windows, questions_are_cut_to_half_of_the_row)
{
    make("abcdefgh", "???????", "", 0,
         (struct squad_window_rules){ .google = 1, .length = 12, .stride = 2 });
    cr_expect_eq(windows.cut_questions, 1);
    cr_expect_eq(windows.questions[0].ids.count, 6);
    release();
}

Test(squad_windows, errors)
{
    const struct squad_window_rules rules = { .length = 10, .stride = 6, .question_tokens = 9 };
    make("", "?", "", 0,
         (struct squad_window_rules){ .length = 10, .stride = 2, .question_tokens = 4 });
    squad_windows_release(&windows);
    cr_expect_eq(squad_windows_make(&windows, &squad, &rules, 0, encode, NULL), -1);
    cr_expect_str_eq(
        err_get(),
        "sequence length 10 is too short for question 'q': its 1 tokens and a stride of 6 need at least 11");
    cr_expect_eq(squad_windows_make(&windows, &squad,
                                    &(struct squad_window_rules){ .length = 10, .stride = 2 }, 0,
                                    encode, &windows),
                 -1);
    cr_expect_str_eq(err_get(), "no such luck");
    squad_release(&squad);
}
