/*
 * page.h - report.html, a page for people about one run or several, and README.md, the model card
 * that model hubs show.
 *
 * report.html needs no other file. It is page.html of this folder, whose scripts draw the curves,
 * with the data of the runs in JSON: summary, points, configuration. Of many points only some are
 * kept: from each interval, those with the least and the greatest loss, the greatest gradient norm
 * and the lowest validation loss. So no spike is lost.
 */
#pragma once

#include "train/report/metrics.h"
#include "train/report/origin.h"

struct page_run {
    const char *name, *title; /* the name is short and tells runs apart */
    const char *config;       /* YAML, as written to config.yaml */
    const char *about;        /* lines "# NAME: TEXT" that say where the run comes from */
    int64_t steps;            /* steps of the whole training; 0 here and below: not known */
    int64_t parameters;
    double flops_per_token;
    const char *machine; /* ops_describe; "": not known */
    uint64_t peak_bytes; /* greatest use of memory */
    int running;         /* 1: the run goes on; a browser loads the page again and again */
    struct page_calibration {
        double factor, loss; /* calibration: factor of the logits, and the loss with it; 0: none */
    } calibrated;
    const struct metrics *metrics;
};

/* Writes the page about `count` runs to the file `path`. Writes nothing if a run has no points.
 * Returns 0, or -1 with an error. */
int page_write(const char *path, const struct page_run *runs, size_t count);

/* Writes dir/README.md: what the model is, its losses, how it is used, and where it comes from.
 * `generates` is 1 for models that generate text. An existing README.md without this program's mark
 * is the user's, and stays. Returns 0, or -1 with an error. */
int page_write_card(const char *dir, const struct page_run *p, const struct kv *origin,
                    int generates);
