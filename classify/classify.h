/*
 * classify.h - texts, or pairs of texts, with labels: the files of GLUE and MNLI, as rows for a
 * model.
 *
 * A file has tab-separated values, without quotes, or JSON lines (its first character is '{'). The
 * columns, or the keys of JSON, are those of GLUE's files unless they are named:
 *
 *     sentence1, sentence2 | question1, question2 | question, sentence | premise, hypothesis |
 *     #1 String, #2 String | text_a, text_b | sentence | text
 *     gold_label | label | is_duplicate | Quality | score
 *
 * A table has its names in the first line. If the columns are given by number, from 1 on, it has no
 * such line. Without a column of labels, or with the label "-" or -1 (for classes, if none has this
 * name), a text has no label.
 *
 * A row has the special tokens that the vocabulary puts around one text or two. Texts that are too
 * long lose their last tokens: first the longer one, then both, as in Hugging Face's tokenizers
 * ("longest_first").
 *
 * Source: Wang et al. 2019 (GLUE).
 */
#pragma once

#include "common/formats/labels.h"
#include "tokenizer/tokenizer.h"

/* Names or numbers of columns; NULL: not given. If `text` is given, `second` NULL means that there
 * is no second text. */
struct classify_columns {
    const char *text, *second, *label;
};

enum { CLASSIFY_UNLABELLED = -1 };

struct classify_text {
    size_t first;    /* index of its first token in ids and types */
    uint32_t tokens; /* special tokens included */
    int32_t label;   /* a class, 0 for a regression, or CLASSIFY_UNLABELLED */
    float value;     /* the label of a regression */
};

struct classify {
    struct labels classes; /* given, or those of the file's labels */
    struct classify_text *texts;
    size_t count, cap;
    struct ids ids, types; /* of all rows */
    size_t unlabelled;     /* texts without a label */
    size_t broken;         /* lines with too few columns, which training leaves out */
    size_t cut;            /* texts that lost tokens */
};

/* Reads a file ("-": stdin). classes: those of the model; if its count is 0, the classes become the
 * file's labels, numbers by value, then other names by byte. length: most tokens of a row. For
 * training, texts without a label and lines of a table with too few columns are left out and
 * counted. Otherwise texts without a label are kept and counted, and lines with too few columns are
 * an error. Returns 0, or -1 with an error that names the line, and *c released. */
int classify_read(struct classify *c, const char *path, const struct classify_columns *columns,
                  const struct labels *classes, const struct tokenizer *t, uint32_t length,
                  int training);
void classify_release(struct classify *c);

/* Writes the row of a text to ids[] and segments[]. Returns its number of tokens. */
uint32_t classify_row(const struct classify *c, size_t i, uint32_t *ids, uint32_t *segments);
