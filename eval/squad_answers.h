/*
 * squad_answers.h - from a model's logits to answers: predictions.json, nbest_predictions.json
 * and, for SQuAD 2.0, null_odds.json.
 *
 * A candidate is a start and an end in one window: both among the n_best of their kind there
 * (the first of equal ones), both in the context, the end not before the start, at most
 * max_tokens long; by Google's custom its start has the most context in this window. It scores
 * the sum of its two logits. Its text is the slice of the context from where its first token
 * begins to where its last one ends, as it is written.
 *
 * The n_best candidates of all windows (Google: of those that differ in text) share a softmax.
 * The first is the prediction, or "empty" (logits 0, as both customs have it) if there is none.
 *
 * 2.0: no answer, the empty text, is a candidate too. It scores the sum of [CLS]'s two logits in
 * the window where that is least, and stays among the n best in any case. The null odds are its
 * score less that of the best candidate with text; above null_threshold the prediction is "".
 */
#ifndef TEXTMILL_EVAL_SQUAD_ANSWERS_H
#define TEXTMILL_EVAL_SQUAD_ANSWERS_H

#include "common/buf.h"
#include "squad/squad_windows.h"

struct squad_answer_rules {
    uint32_t n_best, max_tokens; /* usually 20 and 30 */
    int v2;
    double null_threshold; /* usually 0 */
};

/* The texts of the three files. */
struct squad_answers {
    struct squad_answer_rules rules;
    struct buf predictions, n_best, null_odds;
};

void squad_answers_init(struct squad_answers *a, const struct squad_answer_rules *rules);
void squad_answers_release(struct squad_answers *a);

/* Adds the answer to a question that has windows. starts, ends: rules.length logits of each of
 * them, one behind the other; those of padding are not looked at. A question whose id occurred
 * before adds nothing. -1 if a logit is no finite number. */
int squad_answers_add(struct squad_answers *a, const struct squad_windows *w, size_t question,
                      const float *starts, const float *ends);

/* No more answers: the texts are whole. */
void squad_answers_end(struct squad_answers *a);

/* Writes the files into a folder, which is made; predictions.json last. */
int squad_answers_save(const struct squad_answers *a, const char *dir);

/* One answer, for those who want no files. */
struct squad_best {
    struct squad_text text; /* a slice of the context; "": there is none, and the next four are 0 */
    uint32_t begin, end;    /* code points of the context */
    double score, probability;
    double null_odds;
};
int squad_answers_best(struct squad_best *best, const struct squad_answer_rules *rules,
                       const struct squad_windows *w, size_t question, const float *starts,
                       const float *ends);

#endif
