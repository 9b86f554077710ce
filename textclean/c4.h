/*
 * c4.h - the rules of C4 (Raffel et al. 2020), most of which leave out lines.
 *
 * A line is stripped of white space and reference marks: [12], [edit], [citation needed].
 */
#pragma once

#include "textclean/features.h"

/* The rules, in the order of the table of rules.c. */
enum {
    C4_LONGEST_WORD, /* leave out lines with a longer word, in characters; 0: none */
    C4_REFERENCES,   /* remove reference marks */
    C4_END_MARKS,    /* leave out lines that do not end in . ? ! " or ', or end in ... */
    C4_LEAST_WORDS,  /* leave out lines with fewer words between white space */
    C4_JAVASCRIPT,   /* leave out lines that mention JavaScript */
    C4_POLICY,       /* leave out lines about cookies, privacy and terms of use */
    C4_LOREM_IPSUM,  /* most lines with "lorem ipsum"; one more ends the search */
    C4_BRACES,       /* most lines with {; one more ends the search */
    C4_SENTENCES,    /* sentences are counted until there are this many */
};

struct c4_result {
    struct buf text; /* the lines that stay */
    size_t lines_left_out;
    size_t lorem_ipsum, braces; /* lines with them */
    size_t sentences;
};

/* Applies the rules with these limits, NAN: off, to the text of `f`. If the text changes, calls
 * features_set with the new one, out->text, and sets f->word_count. */
void c4_clean(const double *limits, struct features *f, struct c4_result *out);
