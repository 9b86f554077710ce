/*
 * page.h - report.html: the run on one page, for people.
 *
 * Self-contained HTML with inline SVG: a summary, the curves of loss, learning rate, gradient
 * norm and throughput, and the configuration. Curves of many points are thinned to the least
 * and the greatest value of each stretch, so that no spike is lost.
 */
#ifndef TEXTMILL_TRAIN_PAGE_H
#define TEXTMILL_TRAIN_PAGE_H

#include <stdint.h>

#include "train/metrics.h"

struct page {
    const char *title;
    const char *config; /* YAML, as written to config.yaml */
    int64_t steps;      /* of the whole training */
    int64_t parameters;
    double flops_per_token;
    const char *machine; /* ops_describe */
    uint64_t peak_bytes; /* of memory; 0: not known */
};

/* -1 with an error. With no points nothing is written. */
int page_write(const char *path, const struct page *p, const struct metrics *m);

#endif
