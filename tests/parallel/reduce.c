/* reduce [MEGABYTES [TIMES]]: times our sum over ranks and MPI_Allreduce, alternately, in one run.
 *
 *     mpirun -np 4 build/release/bin/reduce 500 5
 *
 * Prints the median times in seconds, their ratio, and the difference of the two sums. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "train/ranks/reduce.h"

extern const struct transport mpi_transport;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return x[n / 2];
}

static void fill(float *x, int64_t n, int rank)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((double)(rng_at((uint64_t)rank, (uint64_t)i) >> 11) * 0x1p-53);
}

static double by_tree(struct link *l, const struct reduce_group *g, float *x, const int64_t *bounds)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double began = log_seconds();
    if (reduce_scatter(l, g, REDUCE_SUM, x, bounds) < 0 ||
        reduce_gather(l, g, x, bounds, sizeof *x) < 0) {
        fprintf(stderr, "reduce: %s\n", err_get());
        exit(1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return log_seconds() - began;
}

static double by_mpi(float *x, int64_t n)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double began = log_seconds();
    MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    return log_seconds() - began;
}

static double difference(const float *a, const float *b, int64_t n)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - b[i]) / fabs((double)b[i]);
        worst = d > worst ? d : worst;
    }
    return worst;
}

int main(int argc, char **argv)
{
    const int64_t n = (argc > 1 ? strtoll(argv[1], NULL, 10) : 500) * 250000;
    const int times = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5;
    struct link l;
    if (link_open(&l, &mpi_transport, NULL, NULL, 0) < 0) {
        fprintf(stderr, "reduce: %s\n", err_get());
        return 1;
    }
    int *members = mem_zalloc((size_t)l.size, sizeof *members);
    int64_t *bounds = mem_zalloc((size_t)l.size + 1, sizeof *bounds);
    for (int r = 0; r < l.size; r++) {
        members[r] = r;
        bounds[r + 1] = n * (r + 1) / l.size;
    }
    struct reduce_group g = { l.size, l.rank, l.size, members };
    float *x = mem_alloc((size_t)n * sizeof *x), *y = mem_alloc((size_t)n * sizeof *y);
    double *ours = mem_zalloc((size_t)times, sizeof *ours),
           *mpi = mem_zalloc((size_t)times, sizeof *mpi);
    for (int i = 0; i < times; i++) {
        fill(x, n, l.rank);
        fill(y, n, l.rank);
        ours[i] = by_tree(&l, &g, x, bounds);
        mpi[i] = by_mpi(y, n);
    }
    double off = difference(x, y, n), a = median(ours, times), b = median(mpi, times);
    if (!l.rank)
        printf("ranks=%d megabytes=%lld tree=%.3f allreduce=%.3f ratio=%.2f difference=%.1e\n",
               l.size, (long long)(n / 250000), a, b, b / a, off);
    link_close(&l);
    return off < 1e-5 ? 0 : 1;
}
