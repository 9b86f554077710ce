/*
 * kinds.h - recognises binary files and packed files by their first bytes.
 *
 * Most are recognised by magic numbers that never occur in text. JSON and tables are text
 * themselves. They are recognised only in clear cases: a JSON array of objects or strings, a JSON
 * object over several lines, a file named .tsv, and a first line with tab-separated column names,
 * one of them `text`.
 */
#pragma once

#include "common/formats/columns.h"

struct input;

enum { KINDS_LOOK = 1 << 16 }; /* number of bytes of a file that the functions look at */

/* Returns how many unread bytes of the input the functions get: KINDS_LOOK, or fewer if it has
 * fewer, wherever a pipe cuts it; or -1 with an error. They are at in->data + in->begin. */
int64_t kinds_look(struct input *in);

/* Returns a description, such as "a PDF file", of the file `path`, which begins with text[0..n).
 * Returns NULL if the file may be text. `path` NULL: JSON and tables are text, too. */
const char *kinds_recognise(const char *path, const char *text, size_t n);
/* For readers of plain text, JSON or tables: returns 0, or -1 with an error that says what the file
 * is in place of these. Its first line tells most kinds. Warns of documents. */
int kinds_check(const char *path, const char *text, size_t n);
/* Does the same with a whole text, which must be UTF-8, and removes its byte order mark. */
int kinds_check_whole(const char *path, struct buf *text);

/* Returns 1 if text[0..n), after white space, begins with <doc or wikiprep's first line. */
int kinds_is_documents(const char *text, size_t n);
/* Returns 1 if text[0..n), after white space, begins with a JSON object. */
int kinds_is_jsonl(const char *text, size_t n);

/* Returns 1 and sets *kind if a file that begins with text[0..n) holds columns. Else returns 0. */
int kinds_columns(const char *text, size_t n, enum columns_kind *kind);

/* Returns 1 if text[0..n) begins with a line of at least two column names, separated by
 * `separator`, one of them `text`. Names consist of letters of any script, digits and _; they may
 * be quoted. Else returns 0. */
int kinds_is_table(const char *text, size_t n, char separator);
