/*
 * sentence_list.h - lists written inside one paragraph: "1. Apples 2. Pears", "a) … b) …".
 *
 * An item has an optional bullet, a number or a small letter, then "." or ")" or ".)", a space and
 * a capitalized word. The next item has the next number or letter in the same form.
 */
#pragma once

/* Returns the start of the item that follows the item at s, or `end` if there is no next item or no
 * item at s. */
const char *sentence_list_next(const char *s, const char *end);

/* Returns 1 if [s, end), the text before a period, is the number or letter of a list item. Else
 * returns 0. */
int sentence_list_is_number(const char *s, const char *end);
