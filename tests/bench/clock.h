/* clock.h - processor time of a thread, and the median rate of several runs. */
#pragma once

#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Returns the median speed in MB/s of `runs` runs, each over `bytes` bytes. Sorts seconds[], their
 * times. */
static double median_rate(double *seconds, size_t runs, size_t bytes)
{
    qsort(seconds, runs, sizeof *seconds, compare);
    return 1e-6 * (double)bytes / seconds[runs / 2];
}
