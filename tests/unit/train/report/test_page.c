#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/files/file.h"
#include "tests/unit/dir.h"
#include "tests/unit/look.h"
#include "train/report/page.h"

static char path[64];

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
                                              .loss = loss / sqrt(i + 1.0),
                                              .validation = i % 100 ? NAN : loss,
                                              .rate = 1e-3,
                                              .norm = 1,
                                              .tokens = i,
                                              .elapsed = (double)i,
                                              .tokens_per_second = 1e4 };
    struct page p = { .title = "A & B",
                      .about = "# host: a<b\n",
                      .config = config,
                      .steps = (int64_t)count,
                      .parameters = 1234567,
                      .flops_per_token = 1e6,
                      .machine = "a <machine>",
                      .peak_bytes = 3 << 20 };
    cr_assert_eq(page_write(path, &p, &m), 0, "%s", err_get());
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

/* Pages of one point, of a few and of very many points must have four charts, no reference to
 * another file and no NaN in their data, and their size must not grow without limit. */
Test(page, stands_for_one_point_and_for_a_hundred_thousand)
{
    static const size_t counts[] = { 1, 2, 7, 601, 100000 };
    struct buf page = BUF_INIT;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        make_page(&page, counts[i], 5, "layers: 2\n");
        cr_assert_eq(count_of(page.data, "<svg"), 4);
        cr_assert_eq(count_of(page.data, "<svg"), count_of(page.data, "</svg>"));
        cr_assert_eq(count_of(page.data, "src="), 0);
        cr_assert_eq(count_of(page.data, "href="), 0);
        cr_assert_eq(count_of(page.data, "nan,"), 0);
        cr_assert_eq(count_of(page.data, ",nan"), 0);
        cr_assert_eq(count_of(page.data, "inf"), 0);
        cr_assert_eq(count_of(page.data, "<b>3.0 MiB</b>"), 1);
        cr_assert_lt(page.len, 120000, "%zu points: %zu bytes", counts[i], page.len);
    }
    buf_release(&page);
}

Test(page, thinning_keeps_the_spike)
{
    struct buf page = BUF_INIT;
    make_page(&page, 100000, 7.75, "");
    cr_assert(strstr(page.data, ">8</text>")); /* the axis reaches over the first point */
    char top[64];
    snprintf(top, sizeof top, "points=\"%.1f,", 64 + 1 / 1e5 * 600);
    cr_assert(strstr(page.data, top));
    buf_release(&page);
}

Test(page, escapes_text)
{
    struct buf page = BUF_INIT;
    make_page(&page, 3, 5, "output: '<b>&'\n");
    cr_assert(strstr(page.data, "A &amp; B"));
    cr_assert(strstr(page.data, "a &lt;machine&gt;"));
    cr_assert(strstr(page.data, "&lt;b&gt;&amp;"));
    buf_release(&page);
}

Test(page, survives_a_loss_that_is_no_number)
{
    struct buf page = BUF_INIT;
    make_page(&page, 5, NAN, "");
    cr_assert_eq(count_of(page.data, "<svg"), 4);
    buf_release(&page);
}

Test(page, is_not_written_without_points)
{
    struct buf page = BUF_INIT;
    make_page(&page, 0, 5, "");
    cr_assert(!look(path));
    buf_release(&page);
}
