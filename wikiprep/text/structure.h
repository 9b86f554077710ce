/*
 * structure.h - writes the parts of a page (page_parts.h) as JSON, from marked text: the output of
 * the first pass over its source (markup.h).
 */
#pragma once

#include "wikiprep/text/call.h"

/* Appends the lines of marked text, without the signs of lists and without a last LF. is_list 0:
 * the text does not begin a line of the source, so that list signs at its start are text. */
void structure_plain(struct buf *out, struct span marked, int is_list);

/* Appends marked text as a JSON string. Its lines are separated by LF. */
void structure_text(struct buf *json, struct span marked);

/* Appends an object with two members, such as "target" and "label", to a list. Both are marked
 * text. */
void structure_pair(struct buf *list, const char *key, struct span value, const char *key2,
                    struct span value2);

/* Appends {"name": …, "values": {…}} to a list: a call with its arguments that are not empty. */
void structure_call(struct buf *list, const struct wikitext_call *call);

/* Returns 1 if the call has at least `least` arguments with a value and a name, not a number, else
 * 0. */
int structure_is_named(const struct wikitext_call *call, size_t least);

/* Writes {"latitude": …, "longitude": …}, unless the page has coordinates or these are on no map: a
 * longitude goes up to 180, on other planets up to 360. */
void structure_coordinates(struct buf *json, const double at[2]);

/* Appends the category with the title s[0..n) to `lines` as a line, unless it is there. */
void structure_category(struct buf *lines, const char *s, size_t n, int capital);

/* Appends ", " if the list has an item. */
void structure_item(struct buf *list);
