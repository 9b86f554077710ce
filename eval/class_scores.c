#include "eval/class_scores.h"

#include <math.h>

#include "common/base/order.h"

void class_scores(struct class_scores *s, const int32_t *labels, const int32_t *predictions,
                  size_t n, int64_t classes)
{
    SCOPED_MEM uint64_t *right = mem_zalloc(3 * (size_t)classes, sizeof *right);
    uint64_t *is = right + classes, *said = is + classes, all = 0;
    for (size_t i = 0; i < n; i++) {
        is[labels[i]]++;
        said[predictions[i]]++;
        right[labels[i]] += labels[i] == predictions[i];
        all += labels[i] == predictions[i];
    }
    double f1 = 0, seen = 0, both = 0, is_squares = 0, said_squares = 0;
    for (int64_t k = 0; k < classes; k++) {
        const double a = (double)is[k], b = (double)said[k];
        if (a + b > 0 && (classes != 2 || k == 1))
            f1 += 2 * (double)right[k] / (a + b);
        seen += a + b > 0;
        both += a * b;
        is_squares += a * a;
        said_squares += b * b;
    }
    const double N = (double)n, spread = (N * N - is_squares) * (N * N - said_squares);
    s->accuracy = (double)all / N;
    s->f1 = classes == 2 ? f1 : f1 / seen;
    s->matthews = spread > 0 ? ((double)all * N - both) / sqrt(spread) : 0;
}

static double mean(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

double class_pearson(const double *x, const double *y, size_t n)
{
    const double mx = mean(x, n), my = mean(y, n);
    double xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
        xy += (x[i] - mx) * (y[i] - my);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx) / sqrt(yy) : (double)NAN;
}

/* Returns the ranks of x[0..n), from 1 on; equal values get their mean. The caller frees them. */
static double *ranks_of(const double *x, size_t n)
{
    SCOPED_MEM struct order_rank *order = mem_alloc(n * sizeof *order);
    double *ranks = mem_alloc(n * sizeof *ranks);
    for (size_t i = 0; i < n; i++)
        order[i] = (struct order_rank){ -x[i], (uint32_t)i }; /* the smallest number comes first */
    qsort(order, n, sizeof *order, order_ranks);
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && order[next].rank == order[i].rank;)
            next++;
        for (size_t k = i; k < next; k++)
            ranks[order[k].item] = 0.5 * (double)(i + 1 + next);
    }
    return ranks;
}

double class_spearman(const double *x, const double *y, size_t n)
{
    SCOPED_MEM double *p = ranks_of(x, n), *q = ranks_of(y, n);
    return class_pearson(p, q, n);
}
