/*
 * squad_metric.h - exact match and F1 of answers to SQuAD, digit for digit the figures of the
 * two published scripts, evaluate-v1.1.py and evaluate-v2.0.py (run by Python before 3.12,
 * whose sum() adds from left to right).
 *
 * A text is normalised: str.lower(), string.punctuation removed, the words a, an, the (where
 * \b(a|an|the)\b matches) and white space become one space between the words that remain.
 *   exact  the normalised texts are equal
 *   F1     2 p r / (p + r) of the words as multisets; 0 if they share none
 * each the best over a question's answers; in per cent of the questions.
 *
 * The rules differ:
 *   1.1  A question without prediction scores 0. Each question has an answer. Repeated ids
 *        count as often as they occur.
 *   2.0  Of repeated ids the last counts. An empty prediction says that there is no answer, and
 *        so does a no-answer probability above the threshold: right where none is given. A
 *        question without prediction is not counted (the script then fails where it comes to
 *        HasAns and NoAns; here these too are over the questions that are predicted).
 */
#ifndef TEXTMILL_EVAL_SQUAD_METRIC_H
#define TEXTMILL_EVAL_SQUAD_METRIC_H

#include "common/js.h"
#include "squad/squad.h"

/* Appends the normalised text of s[0..n), valid UTF-8. */
void squad_normalise(struct buf *out, const char *s, size_t n);

/* Of two normalised texts. */
double squad_f1(const char *gold, size_t gold_n, const char *text, size_t n);

struct squad_figures {
    double exact, f1; /* per cent */
    size_t total;
};

struct squad_threshold {
    double score, threshold; /* the best score that some threshold gives, and the lowest such */
};

struct squad_score {
    struct squad_figures all;
    size_t missing; /* questions without prediction */
    size_t unknown; /* predictions without question */
    /* rules 2.0 */
    struct squad_figures has_answer, no_answer; /* total 0: there are none */
    struct squad_threshold best_exact, best_f1; /* with probabilities only */
};

/* The rules 1.1 want an answer to each question. -1 with an error that names one without. */
int squad_check_answered(const struct squad *s);

/* predictions: {id: text}. -1 with an error: a prediction that is no string, a question without
 * answer, nothing to score. `name` is that of the predictions. */
int squad_score_v1(struct squad_score *score, const struct squad *s, const struct js *predictions,
                   const char *name);

/* no_answer: {id: probability} or NULL; of each predicted question there must be one. */
int squad_score_v2(struct squad_score *score, const struct squad *s, const struct js *predictions,
                   const char *name, const struct js *no_answer, double threshold);

#endif
