/*
 * regex.h - the regular expressions of tokenizer.json, through PCRE2 (compiled to machine code
 * where it can).
 *
 * They are written for Oniguruma in Ruby's dialect, and mean the same here: see dialect.h.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_REGEX_H
#define TEXTMILL_TOKENIZER_CUT_REGEX_H

#include <stddef.h>

struct regex;
struct regex_scratch; /* one thread's */

/* NULL with an error that names the offset in the pattern, or says that the pattern matches the
 * empty string, which splits nothing. */
struct regex *regex_new(const char *pattern, size_t n);
void regex_free(struct regex *re);

struct regex_scratch *regex_scratch_new(void);
void regex_scratch_free(struct regex_scratch *s);

/* The first match in text[0..n) that begins at or after `from`: 1, 0, or -1 when the search
 * takes too much memory or time. `text` is valid UTF-8. */
int regex_find(const struct regex *re, struct regex_scratch *s, const char *text, size_t n,
               size_t from, size_t *begin, size_t *end);

/* Fills `s` with the code points that PCRE2 has in a class, which is given as it stands in
 * brackets. -1 (no error set): it knows no such class. */
struct classes_set;
int regex_class(struct classes_set *s, const char *base);

#endif
