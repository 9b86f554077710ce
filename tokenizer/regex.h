/*
 * regex.h - the regular expressions of tokenizer.json, through PCRE2 (compiled to machine code
 * where it can).
 *
 * \s and \S mean the 25 code points of White_Space, as in Hugging Face's tokenizers: PCRE2's own
 * \s takes U+180E too, or only ASCII. Other classes (\p{L}, \w, ...) are PCRE2's.
 */
#ifndef TEXTMILL_REGEX_H
#define TEXTMILL_REGEX_H

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

/* "PCRE2 10.42 ..., with JIT": for --version -v. */
const char *regex_version(void);

#endif
