/*
 * scripts.h - the script of a character: Latin, Greek, Han and so on.
 *
 * Hiragana and Katakana count as Han, as in SentencePiece, because Japanese words mix them.
 */
#pragma once

#include "common/base/base.h"

enum {
    SCRIPT_COMMON,    /* digits, punctuation, symbols and other characters of all scripts */
    SCRIPT_INHERITED, /* marks that have the script of the character before */
    SCRIPT_FIRST,     /* the others have numbers from here on, in order of their names */
};

/* A run of `count` code points of one script. */
struct scripts_run {
    uint32_t first, count, script;
};
extern const struct scripts_run scripts_runs[]; /* in order of code points */
extern const size_t scripts_run_count;

/* Returns the number of the code point's script. */
uint32_t scripts_of(uint32_t code_point);
