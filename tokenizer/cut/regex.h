/*
 * regex.h - the regular expressions of tokenizer.json, matched by PCRE2 (with just-in-time
 * compilation if available), the simplest ones by runs.h.
 *
 * The patterns are written in Oniguruma's Ruby syntax. dialect.h translates them without changing
 * their meaning.
 */
#pragma once

#include "common/base/base.h"

struct regex;
struct regex_scratch; /* working memory of one thread */

/* Compiles a pattern. Returns NULL with an error that names the offset in the pattern, or says
 * that the pattern matches the empty string. */
struct regex *regex_new(const char *pattern, size_t n);
/* As regex_new, for a pattern that may match the empty string, at which a text is cut. */
struct regex *regex_new_cut(const char *pattern, size_t n);
void regex_free(struct regex *re);

struct regex_scratch *regex_scratch_new(void);
void regex_scratch_free(struct regex_scratch *s);

/* Finds the first match in text[0..n) that begins at or after `from`, and sets *begin and *end to
 * its range. An empty match at `from` does not count, as in Oniguruma's iteration behind another
 * match. `text` is valid UTF-8. Returns 1, 0 if there is no match, or -1 with an error if the
 * search needs too much memory or time. */
int regex_find(const struct regex *re, struct regex_scratch *s, const char *text, size_t n,
               size_t from, size_t *begin, size_t *end);

/* Fills `s` with the code points that PCRE2 has in the class `base`, which is written as it would
 * be inside brackets, such as \p{Han}. Returns 0, or -1, without an error set, if PCRE2 does not
 * know the class. */
struct charset;
int regex_class(struct charset *s, const char *base);
