/*
 * opt_foreign.h - names that other programs have for options, for hints in errors.
 */
#pragma once

#include "common/base/base.h"

/* Maps option names of other programs, which blanks separate, to a hint what to use here. The table
 * ends with `names` NULL. */
struct opt_foreign {
    const char *names, *say;
};
/* Returns the hint for an option of another program, or NULL. '_' and '-' are equal. */
const char *opt_foreign(const struct opt_foreign *table, const char *name);

/* Returns our n-th name (from 0) for an option of Hugging Face's programs, nanoGPT, Megatron-LM,
 * llama.cpp or WikiExtractor, or NULL after the last. Not all our programs have that option. */
const char *opt_synonym(const char *foreign, size_t n);
