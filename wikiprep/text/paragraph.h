/*
 * paragraph.h - turns marked text, the output of the first pass (markup.h), into lines of text.
 */
#pragma once

#include "wikiprep/values/span.h"

/* The character that a marker byte below 0x20 stands for, or 0 if it stands for none. */
extern const char markup_plain[32];

/* Returns the byte that stands for c if c has a meaning to the second pass, else c. */
char paragraph_sign(char c);

/* Appends the character c; if it has a meaning to the second pass, the byte that stands for it. */
void paragraph_put(struct buf *out, unsigned c);

/* Appends the line of wikitext [s, end) without its marks of italics and bold, '' and '''. */
void paragraph_unquote(struct buf *out, const char *s, const char *end);

/* Appends the lines of the paragraph [s, end), which has no marks of italics and bold, each with
 * LF. Collapses spaces, repairs holes (MARKUP_HOLE), replaces stand-ins by their characters. Leaves
 * out empty lines and, without PARAGRAPH_ALL, lines without a letter, a digit or code. With
 * PARAGRAPH_MARKDOWN the marks for Markdown (marks.h) stay, MARKUP_BLOCK and the marks of
 * quotations as lines; else they are removed. */
enum { PARAGRAPH_ALL = 1, PARAGRAPH_MARKDOWN = 2 };
void paragraph_write(struct buf *out, const char *s, const char *end, int flags);
