/*
 * squad_report.h - the output of `evaluate squad`: counts of the data and scores of the answers.
 */
#ifndef TEXTMILL_EVAL_SQUAD_REPORT_H
#define TEXTMILL_EVAL_SQUAD_REPORT_H

#include "eval/report.h"
#include "eval/squad_answers.h"
#include "eval/squad_metric.h"

void squad_report_data(struct report *r, const char *path, const struct squad *s);
void squad_report_windows(struct report *r, const struct squad_windows *w);

/* Appends the scores. v2: the scores follow the rules of SQuAD 2.0. thresholds: the caller has set
 * best_exact and best_f1 in `score`; append them, too. */
void squad_report_score(struct report *r, const struct squad_score *score, int v2, int thresholds);

/* Appends a question and its answer. odds: the null odds are appended, too. */
void squad_report_best(struct report *r, struct squad_text question, const struct squad_best *best,
                       int odds);

#endif
