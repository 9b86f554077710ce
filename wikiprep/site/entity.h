/*
 * entity.h - HTML character references: &eacute; &#233; &#xE9;
 *
 * Names: all of HTML 4, and those of HTML 5 that stand for punctuation, for Latin and Cyrillic
 * letters and for common signs (html.spec.whatwg.org, "Named character references").
 */
#ifndef TEXTMILL_WIKIPREP_SITE_ENTITY_H
#define TEXTMILL_WIKIPREP_SITE_ENTITY_H

#include <stddef.h>

/* Reads the reference at s[0] == '&': its length with the ';' and *code_point, or 0 when there is
 * none that is known. As in MediaWiki the ';' is required. */
size_t entity_read(const char *s, size_t n, unsigned *code_point);

#endif
