/*
 * entity.h - decodes HTML character references: &eacute; &#233; &#xE9;
 *
 * Knows all names of HTML 4, the names of HTML 5 for punctuation, Latin and Cyrillic letters and
 * common symbols (html.spec.whatwg.org, "Named character references"), and two of MediaWiki.
 */
#pragma once

#include "common/base/base.h"

/* Reads the reference at s[0] == '&' and sets *code_point. Returns its length with the ';', or 0 if
 * it is not a known reference. As in MediaWiki the ';' is required, and control characters and
 * halves of surrogate pairs are text: "&#150;". */
size_t entity_read(const char *s, size_t n, unsigned *code_point);

/* Appends s[0..n) with its references replaced by their characters, of any kind. */
void entity_decode(struct buf *out, const char *s, size_t n);

/* ---- table, from wikiprep/languages/common -------------------------------------------------- */

enum { ENTITY_MAX_BYTES = 14 };
struct entity {
    char name[ENTITY_MAX_BYTES + 1];
    uint16_t code_point;
};
extern const struct entity entities[]; /* sorted by name in byte order */
extern const size_t entities_count;
