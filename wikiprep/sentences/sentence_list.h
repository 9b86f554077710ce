/*
 * sentence_list.h - lists that were written into one paragraph: "1. Apples 2. Pears", "a) … b) …".
 *
 * An item is a number or a small letter with . or ) or .) behind it, perhaps a bullet before, then
 * a space and a capitalized word. The next item counts on, in the same form.
 */
#ifndef TEXTMILL_WIKIPREP_SENTENCES_SENTENCE_LIST_H
#define TEXTMILL_WIKIPREP_SENTENCES_SENTENCE_LIST_H

/* Where the item after the one at s begins; `end` when there is none, or none at s. */
const char *sentence_list_next(const char *s, const char *end);

/* Is what stands in [s, end), in front of a period, an item's number or letter? */
int sentence_list_is_number(const char *s, const char *end);

#endif
