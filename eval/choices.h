/*
 * choices.h - multiple choice by likelihood: the model chooses the most probable ending.
 *
 * Input: JSON lines in one of these forms, which are those of Hugging Face's data sets. AUTO
 * takes the form whose keys each line has; all lines have the same one. A line with other keys is
 * an error, since similar data sets have other prompts. {x} is the text of the key x.
 *
 *     form        keys                                   before a choice        the choices
 *     plain       context, choices [..], label           {context}              choices
 *     hellaswag   activity_label, ctx_a, ctx_b,          {activity_label}:      endings
 *                 endings [..], label                      {ctx_a} {ctx_b}
 *     piqa        goal, sol1, sol2, label                Question: {goal}       sol1, sol2
 *                                                        Answer:
 *     arc         question, choices {text [..],          Question: {question}   choices.text
 *                 label [..]}, answerKey                 Answer:
 *     winogrande  sentence with a "_", option1,          the sentence up to     the sentence
 *                 option2, answer                        "_", and the option    after "_"
 *
 * A label is the index of the right choice, counted from 0, as a number or as text. WinoGrande
 * counts from 1, and ARC's answerKey is one of the strings in choices.label. One space is put
 * before each choice. HellaSwag's texts are cleaned: ctx_b is changed by Python's capitalize(), "
 * [title]" becomes ". ", other text in brackets is removed, and two spaces become one.
 *
 * Context and choice are encoded together. The tokens after those of the context alone belong to
 * the choice; so does white space at the end of the context. If the context is empty, the token
 * that begins a text (framed.h) takes its place. A sequence longer than the model's positions is
 * cut at its beginning.
 *
 *     acc       the right choice has the largest sum of log p
 *     acc_norm  it has the largest sum of log p / characters of the choice
 *
 * Of choices with equal scores the first counts. Forms and rules are those of
 * lm-evaluation-harness, so that the scores can be compared.
 */
#ifndef TEXTMILL_EVAL_CHOICES_H
#define TEXTMILL_EVAL_CHOICES_H

#include <stdint.h>

#include "common/base/buf.h"
#include "eval/score.h"
#include "tokenizer/tokenizer.h"

#define CHOICES_FORM_WORDS "auto|plain|hellaswag|piqa|arc|winogrande"
enum choices_form {
    CHOICES_AUTO,
    CHOICES_PLAIN,
    CHOICES_HELLASWAG,
    CHOICES_PIQA,
    CHOICES_ARC,
    CHOICES_WINOGRANDE
};

struct choices_score {
    enum choices_form form;
    uint64_t questions;
    uint64_t right, right_norm; /* by acc and acc_norm; equal for WinoGrande */
};

/* Reads `path` ("-": stdin) to its end, scores its questions and sets *score. Calls `progress` with
 * the number of questions scored so far. Returns 0, or -1, with file and line in the error, if a
 * line is not a question of the given form. */
int choices_score(struct choices_score *score, struct scorer *s, const struct tokenizer *t,
                  struct encoder *e, const char *path, enum choices_form form,
                  void (*progress)(uint64_t done));

const char *choices_form_name(enum choices_form form); /* its word in CHOICES_FORM_WORDS */

/* One choice of a question. */
struct choices_option {
    struct buf context, ending; /* the ending begins with a space */
    size_t characters;          /* length of the choice, without the space */
};
struct choices_question {
    struct choices_option *options; /* [count]; the first `made` of them have buffers, which are
                                     * reused */
    size_t count, made, cap;
    size_t right;
};

/* Parses a line into *q, which is zeroed or was used before. If *form is AUTO, sets it to the
 * line's form. `name` names the line in errors. Returns 0, or -1 with an error if the line is not a
 * question of this form. */
int choices_parse(struct choices_question *q, enum choices_form *form, const char *line, size_t n,
                  const char *name);
void choices_release(struct choices_question *q);

#endif
