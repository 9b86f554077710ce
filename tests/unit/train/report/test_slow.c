/* The slowest rank of each kind of work, among ranks with the same work. */
#include <criterion/criterion.h>

#include "common/base/buf.h"
#include "train/report/slow.h"

/* Two stages of a pipeline, four times: ranks 0, 2, 4 and 6 are the first stage, whose rank 4 needs
 * more for products; its attention is slower, too, but a small part of the time. Only the second
 * stage computes a loss, so none of its ranks is slow. */
Test(slow, only_a_rank_that_is_slower_than_those_with_its_work_is_named)
{
    enum { RANKS = 8, STAGES = 2 };
    const char *hosts[RANKS] = { "a", "a", "b", "b", "c", "c", "d", "d" };
    double seconds[RANKS][TIME_KINDS] = { 0 };
    struct buf out = BUF_INIT;
    for (int r = 0; r < RANKS; r++) {
        seconds[r][TIME_PRODUCTS] = 1 + 0.01 * r;
        seconds[r][TIME_LOSS] = r % STAGES;
        seconds[r][TIME_ATTENTION] = r == 4 ? 0.02 : 0.01;
        seconds[r][TIME_WAITING] = 3;
    }
    slow_describe(&out, seconds, hosts, RANKS, STAGES);
    cr_assert_eq(out.len, 0);
    seconds[4][TIME_PRODUCTS] = 1.53;
    slow_describe(&out, seconds, hosts, RANKS, STAGES);
    cr_assert_str_eq(out.data, "products: rank 4 on c, 1.50 times the median");
    buf_release(&out);
}
