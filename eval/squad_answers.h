/*
 * squad_answers.h - turns a model's logits into answers: predictions.json, nbest_predictions.json
 * and, for SQuAD 2.0, null_odds.json.
 *
 * A candidate is a start token and an end token in one window. The start is among the n_best
 * largest start logits of the window, the end among the n_best largest end logits (of equal logits
 * the first counts). Both are in the context, the end is not before the start, and the candidate
 * has at most max_tokens tokens. By Google's rules, no other window has more context around the
 * start token. The candidate's score is the sum of its two logits. Its text is the unchanged part
 * of the context from the beginning of its first token to the end of its last one.
 *
 * The probabilities are a softmax over the n_best candidates of all windows (Google: only the first
 * of candidates with equal text counts). The best candidate is the prediction. If none has text,
 * the prediction is "empty", with logits 0, by both sets of rules.
 *
 * 2.0: "no answer", the empty text, is a candidate too. Its score is the sum of [CLS]'s two logits,
 * in the window where this sum is smallest. It is always kept among the n best. The null odds are
 * its score minus the score of the best candidate with text. If they are above null_threshold, the
 * prediction is "".
 */
#pragma once

#include "common/files/file.h"
#include "squad/squad_windows.h"

struct squad_answer_rules {
    uint32_t n_best, max_tokens; /* usually 20 and 30 */
    int v2;
    double null_threshold; /* usually 0 */
};

/* The contents of the three files. */
struct squad_answers {
    struct squad_answer_rules rules;
    struct buf predictions, n_best, null_odds;
    struct output outs[3]; /* of squad_answers_open */
};

void squad_answers_init(struct squad_answers *a, const struct squad_answer_rules *rules);
void squad_answers_release(struct squad_answers *a);

/* Adds the answer to question `question`. starts, ends: rules.length logits for each of the
 * question's windows, one window after another; logits of padding are not read. A question whose id
 * occurred before adds nothing. Returns 0, or -1 with an error if a logit is not finite. */
int squad_answers_add(struct squad_answers *a, const struct squad_windows *w, size_t question,
                      const float *starts, const float *ends);

/* Completes the three contents. Call it after the last answer. */
void squad_answers_end(struct squad_answers *a);

/* Opens the files in the folder `dir`, which is created if needed: before the work, so that it
 * cannot be in vain. squad_answers_save writes them, predictions.json last. Both return 0, or -1
 * with an error. */
int squad_answers_open(struct squad_answers *a, const char *dir);
int squad_answers_save(struct squad_answers *a);

/* The best answer to one question, without the files. squad_answers_best sets *best from the
 * logits, which are as for squad_answers_add. Returns 0, or -1 with an error if a logit is not
 * finite. */
struct squad_best {
    struct span text;    /* part of the context; "": no answer, and the next four are 0 */
    uint32_t begin, end; /* range in the context, in code points */
    double score, probability;
    double null_odds;
};
int squad_answers_best(struct squad_best *best, const struct squad_answer_rules *rules,
                       const struct squad_windows *w, size_t question, const float *starts,
                       const float *ends);
