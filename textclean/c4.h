/*
 * c4.h - the rules of C4 (Raffel et al. 2020), most of which leave out lines.
 *
 * A line is stripped of white space and reference marks: [12], [edit], [citation needed].
 */
#pragma once

#include "textclean/features.h"

/* Which rules apply. */
struct c4_rules {
    size_t longest_word;        /* leave out lines with a longer word, in characters; 0: none */
    size_t least_words;         /* leave out lines with fewer words between white space */
    int end_marks;              /* leave out lines that do not end in . ? ! " or ', or end in ... */
    int references;             /* remove reference marks */
    int javascript;             /* leave out lines that mention JavaScript */
    int policy;                 /* leave out lines about cookies, privacy and terms of use */
    double lorem_ipsum, braces; /* most lines with "lorem ipsum", or {; one more ends the search */
    double least_sentences;     /* sentences are counted until there are this many */
};

struct c4_result {
    struct buf text; /* the lines that stay */
    size_t lines_left_out;
    size_t lorem_ipsum, braces; /* lines with them */
    size_t sentences;
};

/* Applies the rules to the text of `f`. If the text changes, calls features_set with the new one,
 * out->text, and sets f->word_count. */
void c4_clean(const struct c4_rules *rules, struct features *f, struct c4_result *out);
