/*
 * synonyms.h - names that other programs have for our options: Hugging Face's, nanoGPT, Megatron-LM,
 * llama.cpp, WikiExtractor. Errors about unknown options name ours.
 */
#ifndef TEXTMILL_COMMON_SYNONYMS_H
#define TEXTMILL_COMMON_SYNONYMS_H

#include <stddef.h>

/* Returns our n-th name for another program's option, n from 0 on, or NULL if there are no more. A
 * program may lack an option of that name. '_' and '-' are equal. */
const char *synonym(const char *foreign, size_t n);

#endif
