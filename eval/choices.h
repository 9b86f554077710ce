/*
 * choices.h - questions of multiple choice, read from JSON lines.
 *
 * A question has one of the forms in choices_forms, which are those of Hugging Face's data sets.
 * AUTO takes the form whose keys the line has. A line with other keys is an error, since similar
 * data sets have other prompts.
 *
 * A label is the index of the right choice, counted from 0, as a number or as text; SuperGLUE
 * writes false for 0 and true for 1. WinoGrande and Social IQA count from 1, and an answerKey is
 * one of the strings in choices.label. One space is put before each choice. In HellaSwag's texts,
 * ctx_b is changed by Python's capitalize(), " [title]" becomes ". ", other text in brackets is
 * removed, and two spaces become one. COPA's premise loses its last character, the full stop; its
 * choices begin with a lower case letter and have a second space before them. MMLU's questions have
 * a description that names their subject.
 *
 * These are the prompts of lm-evaluation-harness, so that the scores can be compared.
 */
#pragma once

#include "common/base/base.h"

/* The forms by name; choices_forms has a row for each, in this order. */
#define CHOICES_FORM_WORDS                                                                         \
    "auto|plain|hellaswag|piqa|arc|winogrande|mmlu|boolq|sciq|openbookqa|copa|social_iqa|"         \
    "commonsense_qa"
enum { CHOICES_AUTO, CHOICES_FORMS = 13 };

/* A form. In a template, {key} is the text of a member, {choices.0} that of element 0 of the member
 * "choices", {#} that of the array's element for the choice, and {function key} a text changed by a
 * function of choices.c. "a|b" is a list: one template for each choice. */
struct choices_row {
    const char *name;
    const char *keys, *others; /* the keys that a line must have, and those that it may have */
    const char *prompt;        /* text before a choice; a list, or one template for all choices */
    const char *choices;       /* a list, or one template for all elements of `array` */
    const char *gold;          /* key of the right choice; NULL: the last choice is right */
    const char *labels;        /* path of the labels, one of which `gold` is; NULL: a number */
    const char *array;         /* path of the array of choices, or NULL */
    const char *description;   /* template of the text before all examples, or NULL */
    int first;                 /* number of the first choice */
    int norm;                  /* 1: acc_norm is usual, too */
    int wikihow;               /* 1: contexts and choices are cleaned */
};
extern const struct choices_row choices_forms[CHOICES_FORMS];

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
    struct buf description; /* empty if the form has none */
};

/* Parses a line into *q, which is zeroed or was used before. If *form is AUTO, sets it to the
 * line's form. `name` names the line in errors. Returns 0, or -1 with an error if the line is not a
 * question of this form. */
int choices_parse(struct choices_question *q, int *form, const char *line, size_t n,
                  const char *name);
void choices_release(struct choices_question *q);
