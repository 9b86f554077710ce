/*
 * page.h - report.html: a page for people about the run.
 *
 * Self-contained HTML with inline SVG: a summary, the curves of loss, learning rate, gradient norm
 * and throughput, and the configuration. A curve with many points is cut into intervals; only the
 * least and the greatest value of each interval are drawn, so no spike is lost.
 */
#ifndef TEXTMILL_TRAIN_REPORT_PAGE_H
#define TEXTMILL_TRAIN_REPORT_PAGE_H

#include <stdint.h>

#include "train/report/metrics.h"

struct page {
    const char *title;
    const char *config; /* YAML, as written to config.yaml */
    const char *about;  /* lines "# NAME: TEXT" that say where the run comes from */
    int64_t steps;      /* steps of the whole training */
    int64_t parameters;
    double flops_per_token;
    const char *machine; /* ops_describe */
    uint64_t peak_bytes; /* greatest use of memory; 0: not known */
};

/* Writes the page to the file `path`. Writes nothing if m has no points. Returns 0, or -1 with an
 * error. */
int page_write(const char *path, const struct page *p, const struct metrics *m);

#endif
