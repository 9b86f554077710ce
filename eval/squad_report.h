/*
 * squad_report.h - what evaluate squad prints: what is in the data, and what answers score.
 */
#ifndef TEXTMILL_EVAL_SQUAD_REPORT_H
#define TEXTMILL_EVAL_SQUAD_REPORT_H

#include "eval/report.h"
#include "eval/squad_answers.h"
#include "eval/squad_metric.h"

void squad_report_data(struct report *r, const char *path, const struct squad *s);
void squad_report_windows(struct report *r, const struct squad_windows *w);

/* v2: by the rules of 2.0; thresholds: best_exact and best_f1 are known too. */
void squad_report_score(struct report *r, const struct squad_score *score, int v2, int thresholds);

/* A question and its answer; odds: how much more no answer scores, too. */
void squad_report_best(struct report *r, struct squad_text question, const struct squad_best *best,
                       int odds);

#endif
