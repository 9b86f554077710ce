/*
 * choices.h - multiple choice by likelihood: of several endings the model finds one most probable.
 *
 * Input: JSON lines of one of these forms, as Hugging Face's data sets have them; AUTO takes the
 * form that the first line has. {x} is the text of the key x.
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
 *                 option2, answer                        "_", and the option    behind "_"
 *
 * A label is the number of the right choice, from 0, as a number or as text; WinoGrande's counts
 * from 1, and ARC's is one of choices.label. A blank stands before a choice. HellaSwag's texts are
 * cleaned: ctx_b as Python's capitalize() leaves it, " [title]" a full stop, other brackets gone,
 * two blanks one.
 *
 * Context and choice are encoded together, and the tokens behind the context's own are the
 * choice's; white space at the context's end belongs to the choice. Without a context the model
 * begins after the token that begins a text (framed.h). What is longer than the model loses its
 * beginning.
 *
 *     acc       the right choice has the largest sum of log p
 *     acc_norm  it has the largest sum of log p / characters of the choice
 *
 * The first of equal ones counts. Forms and rules are those of lm-evaluation-harness, whose figures
 * these are.
 */
#ifndef TEXTMILL_EVAL_CHOICES_H
#define TEXTMILL_EVAL_CHOICES_H

#include <stdint.h>

#include "common/buf.h"
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
    uint64_t right, right_norm; /* right_norm: not of WinoGrande, whose endings are equal */
};

/* Reads `path` ("-": stdin) to its end. -1 with file and line for what is no such question. */
int choices_score(struct choices_score *score, struct scorer *s, const struct tokenizer *t,
                  struct encoder *e, const char *path, enum choices_form form,
                  void (*progress)(uint64_t done));

const char *choices_form_name(enum choices_form form);

/* One line of the file. */
struct choices_option {
    struct buf context, ending; /* the ending with the blank before it */
    size_t characters;          /* of the choice */
};
struct choices_question {
    struct choices_option *options; /* [count]; those behind are kept for later questions */
    size_t count, made, cap;
    size_t right;
};

/* Reads a line into *q (zeroed or of an earlier use). *form AUTO is set to the line's form. `name`
 * stands in errors. */
int choices_parse(struct choices_question *q, enum choices_form *form, const char *line, size_t n,
                  const char *name);
void choices_release(struct choices_question *q);

#endif
