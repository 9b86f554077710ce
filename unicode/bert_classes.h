/*
 * bert_classes.h - the characters that BERT's rules ask about, under Hugging Face's tables (hf_)
 * and under those of Google's reference (google_): see tokenizer/cut/normalize.h.
 *
 * scripts/make-bert-tables made the tables.
 */
#ifndef TEXTMILL_UNICODE_BERT_CLASSES_H
#define TEXTMILL_UNICODE_BERT_CLASSES_H

#include <stdint.h>

#include "unicode/unicode.h"

/* Lower case under either rules. That of the capital I with a dot is two characters: it stays. */
enum { BERT_CLASSES_DOTTED_I = 0x130 };
uint32_t bert_classes_lower(uint32_t code_point, int google);

/* ---- tables --------------------------------------------------------------------------------- */

/* Code points first, first + step, ..., last have lower case delta away. */
struct lower_run {
    uint32_t first, last;
    int32_t delta;
    uint32_t step;
};
struct decomposition {
    uint32_t from, to[2];
};

extern const struct unicode_range hf_controls[], hf_punctuation[], hf_marks[];
extern const struct unicode_range google_controls[], google_punctuation[], google_marks[];
extern const struct unicode_range google_cased[], google_case_ignorable[];
extern const struct lower_run unicode_lower[], unicode_lower_later[]; /* version 14; after it */
extern const struct decomposition google_decompositions[];            /* beside forms_canonical */
extern const struct unicode_class_run google_combining[]; /* Hugging Face's: forms_class_runs */

#endif
