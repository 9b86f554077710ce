/*
 * squad_report.h - the output of `evaluate squad`: counts of the data and scores of the answers.
 */
#pragma once

#include "eval/report.h"
#include "eval/squad_answers.h"
#include "eval/squad_metric.h"

void squad_report_data(struct report *r, const char *path, const struct squad *s);
void squad_report_windows(struct report *r, const struct squad_windows *w);

/* Appends the scores. v2 1: the scores follow the rules of SQuAD 2.0. thresholds 1: `score` has
 * best_exact and best_f1, which are appended, too. */
void squad_report_score(struct report *r, const struct squad_score *score, int v2, int thresholds);

/* Appends a question and its answer. odds 1: the null odds are appended, too. */
void squad_report_best(struct report *r, struct span question, const struct squad_best *best,
                       int odds);
