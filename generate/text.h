/*
 * text.h - turns the bytes of tokens into text for output: whole characters, without stop texts.
 *
 * A token may end within a character, and a stop text may begin within a token. Bytes that may yet
 * become part of a character or of a stop text are held back until this is known. Invalid UTF-8
 * becomes U+FFFD, one per maximal subpart, so that the output is always valid.
 */
#pragma once

#include "common/base/base.h"

struct text {
    const char *const *stops; /* borrowed; none is empty */
    size_t stop_count;
    int stopped;    /* 1: a stop text was found, and the text ends before it */
    struct buf all; /* the text so far, without the bytes of an unfinished character */
    struct buf raw; /* bytes of an unfinished character */
    size_t told;    /* all.data[0..told) has been returned by text_news */
};

void text_init(struct text *t, const char *const *stops, size_t stop_count);
void text_copy(struct text *to, const struct text *from); /* *to: zeroed, or used before */
void text_release(struct text *t);

void text_add(struct text *t, const char *bytes, size_t n); /* does nothing after a stop text */
void text_end(struct text *t); /* ends the text: the bytes held back become part of it */

/* Returns the new part of the text that can no longer change, and sets *n to its length in bytes,
 * perhaps 0. It is not NUL-terminated, and is valid until the next text_add or text_end. */
const char *text_news(struct text *t, size_t *n);
