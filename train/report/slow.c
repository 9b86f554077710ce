#include "train/report/slow.h"

#include "common/base/order.h"

static const double SLOW = 1.1, SHARE = 0.05;

/* Returns how many times the median of the ranks with the same work rank r took, or 0 if that is a
 * small part of its time. */
static double ratio(const double (*seconds)[TIME_KINDS], int kind, int r, int ranks, int model)
{
    SCOPED_MEM double *same = mem_zalloc((size_t)(ranks / model), sizeof *same);
    double all = 0;
    int n = 0;
    for (int k = 0; k < TIME_KINDS; k++)
        all += seconds[r][k];
    for (int q = r % model; q < ranks; q += model)
        same[n++] = seconds[q][kind];
    qsort(same, (size_t)n, sizeof *same, order_reals);
    const double median = same[(n - 1) / 2], own = seconds[r][kind];
    return median > 0 && own >= SHARE * all ? own / median : 0;
}

void slow_describe(struct buf *out, const double (*seconds)[TIME_KINDS], const char *const *hosts,
                   int ranks, int model)
{
    static const enum metrics_time work[] = { TIME_PRODUCTS, TIME_ATTENTION, TIME_LOSS,
                                              TIME_OPTIMIZER, TIME_READING };
    for (size_t k = 0; k < sizeof work / sizeof *work; k++) {
        double most = SLOW;
        int slowest = -1;
        for (int r = 0; r < ranks; r++) {
            const double x = ratio(seconds, work[k], r, ranks, model);
            slowest = x > most ? r : slowest;
            most = x > most ? x : most;
        }
        if (slowest >= 0)
            buf_addf(out, "%s%s: rank %d on %s, %.2f times the median", out->len ? "; " : "",
                     metrics_times[work[k]], slowest, hosts[slowest], most);
    }
}
