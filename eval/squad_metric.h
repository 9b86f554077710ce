/*
 * squad_metric.h - exact match and F1 of answers to SQuAD. The results have the same digits as
 * those of the published scripts evaluate-v1.1.py and evaluate-v2.0.py, run by a Python before
 * 3.12 (whose sum() adds from left to right).
 *
 * Texts are normalised before they are compared: str.lower(), string.punctuation removed, the words
 * a, an, the removed (where \b(a|an|the)\b matches), one space between the remaining words.
 *   exact  1 if the normalised texts are equal, else 0
 *   F1     2 p r / (p + r), with precision p and recall r of the words as multisets; 0 if the texts
 *          have no word in common
 * A question gets the best value over its gold answers. Results are means over the questions, in
 * per cent.
 *
 * The rules differ:
 *   1.1  A question without prediction scores 0. Each question has an answer. Repeated ids
 *        count as often as they occur.
 *   2.0  Of questions with the same id the last counts. An empty prediction, or a no-answer
 *        probability above the threshold, means "no answer"; this is right if the question has no
 *        gold answer. A question without prediction is not counted. (The script fails in this case
 *        when it computes HasAns and NoAns; here they cover the questions with a prediction.)
 */
#pragma once

#include "common/formats/js.h"
#include "squad/squad.h"

/* Appends the normalised form of the text s[0..n), valid UTF-8, to `out`. */
void squad_normalise(struct buf *out, const char *s, size_t n);

/* Returns the F1 of two normalised texts. */
double squad_f1(const char *gold, size_t gold_n, const char *text, size_t n);

struct squad_figures {
    double exact, f1;             /* per cent */
    double exact_error, f1_error; /* their standard errors (score.h), per cent */
    size_t total;
};

struct squad_threshold {
    double score, threshold; /* the best score that any threshold gives, and the lowest such
                              * threshold */
};

struct squad_score {
    struct squad_figures all;
    size_t missing; /* questions without prediction */
    size_t unknown; /* predictions without question */
    /* rules 2.0 */
    struct squad_figures has_answer, no_answer; /* total 0: there are no such questions */
    struct squad_threshold best_exact, best_f1; /* set only if no-answer probabilities are given */
};

/* Checks that each question has an answer, as the rules of 1.1 need. Returns 0, or -1 with an error
 * that names a question without one. */
int squad_check_answered(const struct squad *s);

/* Scores predictions, an object {id: text}, by the rules of 2.0 if v2 is 1, else 1.1. `name` names
 * them in errors. Only with v2: no_answer is {id: probability}, with an entry for each predicted
 * question, or NULL; a probability above `threshold` means "no answer". Returns 0, or -1 with an
 * error if a prediction is not a string, there is nothing to score, or, by 1.1, a question has no
 * answer. */
int squad_score(struct squad_score *score, const struct squad *s, int v2,
                const struct js *predictions, const char *name, const struct js *no_answer,
                double threshold);
