/*
 * slow.h - names the ranks that are slower than others with the same work.
 */
#pragma once

#include "train/report/metrics.h"

/* Appends to `out` the slowest rank of each kind of work, if it is slow: "products: rank 3 on
 * node2, 1.31 times the median". seconds[ranks] are the times of each rank, hosts[ranks] the names
 * of their hosts. Every `model`-th rank has the same work. One is slow if its work of a kind takes
 * a twentieth of its time or more, and more than 1.1 times the median of the ranks with the same
 * work (of an even number, the lower one of the two). */
void slow_describe(struct buf *out, const double (*seconds)[TIME_KINDS], const char *const *hosts,
                   int ranks, int model);
