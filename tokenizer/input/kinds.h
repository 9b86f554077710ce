/*
 * kinds.h - files that are not text to be tokenized, told by how they begin.
 *
 * Most are told by magic numbers that no text has. JSON and tables are text, and are told where it
 * is safe: a JSON array of objects, a JSON object over several lines, a file that is called .tsv,
 * and a first line of column names with tabs between them, one of them `text`.
 */
#ifndef TEXTMILL_TOKENIZER_INPUT_KINDS_H
#define TEXTMILL_TOKENIZER_INPUT_KINDS_H

#include <stddef.h>

enum { KINDS_LOOK = 512 }; /* bytes of a file that are looked at */

/* What the file called `path` is that begins with text[0..n), such as "a PDF file"; NULL: it may be
 * text. */
const char *kinds_recognise(const char *path, const char *text, size_t n);

/* Whether text[0..n) begins with a line of at least two column names, one of them `text`: letters,
 * digits and _ between separators, perhaps in quotes. */
int kinds_is_table(const char *text, size_t n, char separator);

#endif
