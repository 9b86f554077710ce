#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/files/file.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "train/report/page.h"

static char path[64];
static size_t hole = SIZE_MAX; /* number of the point that has no loss */

static void make_dir_and_path(void)
{
    make_dir();
    snprintf(path, sizeof path, "%s/report.html", dir);
}

TestSuite(page, .init = make_dir_and_path, .fini = remove_dir);

/* Writes the page of a run with `count` points, whose training loss is `loss` / sqrt(i + 1), to
 * `out`. */
static void make_page(struct buf *out, size_t count, double loss, const char *config)
{
    struct metrics m = { .count = count, .points = mem_zalloc(count + 1, sizeof *m.points) };
    for (size_t i = 0; i < count; i++)
        m.points[i] = (struct metrics_point){ .step = (int64_t)i + 1,
                                              .loss = i == hole ? NAN : loss / sqrt(i + 1.0),
                                              .validation = i % 100 ? NAN : loss,
                                              .rate = 1e-3,
                                              .norm = 1,
                                              .sample = (char *)"once",
                                              .tokens = (double)i,
                                              .elapsed = (double)i,
                                              .tokens_per_second = 1e4 };
    struct page_run run = { .name = "a/model",
                            .title = "A & B",
                            .about = "# host: a<b\n",
                            .config = config,
                            .steps = (int64_t)count,
                            .parameters = 1234567,
                            .flops_per_token = 1e6,
                            .machine = "a <machine>",
                            .peak_bytes = 3 << 20,
                            .metrics = &m };
    cr_assert_eq(page_write(path, &run, 1), 0, "%s", err_get());
    buf_clear(out);
    if (count)
        cr_assert_eq(file_read(path, out), 0);
    free(m.points);
}

static int count_of(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

/* Pages of one point, of a few and of very many points must refer to no other file and have no NaN
 * in their data, and their size must not grow without limit. */
Test(page, stands_for_one_point_and_for_a_hundred_thousand)
{
    static const size_t counts[] = { 1, 2, 7, 601, 100000 };
    struct buf page = BUF_INIT;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        make_page(&page, counts[i], 5, "layers: 2\n");
        cr_assert_eq(count_of(page.data, "src="), 0);
        cr_assert_eq(count_of(page.data, "href="), 0);
        cr_assert_eq(count_of(page.data, "nan,"), 0);
        cr_assert_eq(count_of(page.data, ",nan"), 0);
        cr_assert_eq(count_of(page.data, "\"memory\":3145728,"), 1);
        cr_assert_eq(count_of(page.data, "step,loss,"), 1);
        cr_assert_eq(count_of(page.data, ",smooth_loss\\n1,5,"), 1);
        cr_assert_lt(page.len, 120000, "%zu points: %zu bytes", counts[i], page.len);
    }
    buf_release(&page);
}

Test(page, thinning_keeps_the_spike_and_the_ends)
{
    struct buf page = BUF_INIT;
    make_page(&page, 100000, 7.75, "");
    cr_assert(strstr(page.data, "\\n1,7.75,")); /* the greatest loss */
    cr_assert(strstr(page.data, "\\n99901,"));  /* the last validation */
    cr_assert(strstr(page.data, "\\n100000,")); /* the last point */
    cr_assert(!strstr(page.data, "\\n99998,"));
    cr_assert(strstr(page.data, "{\"step\":1,\"text\""));    /* the first and the last sample */
    cr_expect(strstr(page.data, "unicode-bidi: plaintext")); /* Arabic runs from right to left */
    cr_assert(strstr(page.data, "{\"step\":100000,\"text\""));
    buf_release(&page);
}

Test(page, thinning_keeps_the_spike_behind_a_loss_that_is_no_number)
{
    struct buf page = BUF_INIT;
    hole = 0;
    make_page(&page, 100000, 7.75, "");
    cr_assert(strstr(page.data, "\\n2,5.48")); /* 7.75 / sqrt(2) */
    hole = SIZE_MAX;
    buf_release(&page);
}

Test(page, text_cannot_end_the_script)
{
    struct buf page = BUF_INIT;
    make_page(&page, 3, 5, "output: '</script><b>&'\n");
    cr_assert_eq(count_of(page.data, "</script>"), 2);
    cr_assert(strstr(page.data, "\"A & B\""));
    cr_assert(strstr(page.data, "a \\u003cmachine>"));
    cr_assert(strstr(page.data, "\\u003c/script>\\u003cb>&"));
    buf_release(&page);
}

Test(page, survives_a_loss_that_is_no_number)
{
    struct buf page = BUF_INIT;
    make_page(&page, 5, NAN, "");
    cr_assert(strstr(page.data, "\\n1,,"));
    cr_assert(!strstr(page.data, "nan,"));
    buf_release(&page);
}

Test(page, is_not_written_without_points)
{
    struct buf page = BUF_INIT;
    make_page(&page, 0, 5, "");
    cr_assert(!look(path));
    buf_release(&page);
}
