/*
 * charsmap.h - applies SentencePiece's precompiled character map, which replaces strings by
 * others, for example according to NFKC.
 *
 * The map consists of the trie's size in four bytes, a double-array trie of that size, and
 * NUL-terminated texts. The trie has the format of Darts-clone: 32-bit little-endian units with a
 * label, the offset of the children, and a flag whether one child holds a value. The value is the
 * position of the replacement text.
 */
#pragma once

#include "common/base/base.h"

struct charsmap;

/* Makes a map of bytes[0..n), which are copied. Returns NULL with an error if they are no map. */
struct charsmap *charsmap_new(const char *bytes, size_t n);
void charsmap_free(struct charsmap *m);

/* Makes charsmap_longest keep these texts as they are (SentencePiece's user-defined pieces). If
 * several match at one place, the longest counts. Copies the texts. Call it at most once, before
 * the map is used. */
void charsmap_keep(struct charsmap *m, const char *const *texts, size_t count);

/* Appends text[0..n), valid UTF-8, to `out`, with all replacements made. At each place the longest
 * string that is in the map is replaced, as SentencePiece does. */
void charsmap_longest(const struct charsmap *m, struct buf *out, const char *text, size_t n);

/* Finds the replacements of charsmap_longest or, if `cluster` is not NULL, those that Hugging
 * Face's tokenizers make, by grapheme clusters. `cluster` is a pattern that matches one cluster. A
 * cluster of fewer than 6 bytes is replaced by the value of its shortest prefix in the map, if
 * there is one. Otherwise this is done with each character of the cluster. Calls `put` for each
 * part old[0..n) of the text, in order: the part is replaced by `new`, or stays if `new` is NULL.
 * Returns 0, or -1 with an error if the pattern cannot be matched. */
struct regex;
struct regex_scratch;
typedef void charsmap_put(void *ctx, const char *old, size_t n, const char *new);
int charsmap_trace(const struct charsmap *m, const struct regex *cluster,
                   struct regex_scratch *scratch, const char *text, size_t n, charsmap_put *put,
                   void *ctx);
