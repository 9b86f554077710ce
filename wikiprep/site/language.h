/*
 * language.h - names of languages, as templates show them: "Russian: водка", "ロシア語: водка".
 */
#ifndef TEXTMILL_WIKIPREP_SITE_LANGUAGE_H
#define TEXTMILL_WIKIPREP_SITE_LANGUAGE_H

#include <stddef.h>

/* The name of the language with this code (ISO 639, or Wikipedia's), in the language of the wiki:
 * English where that is not known; shortened, "англ.", where its templates have it so. NULL when
 * the code is not known. */
const char *language_name(const char *code, size_t n, const char *wiki);

/* Its name in itself: "Deutsch"; NULL when that is not known. */
const char *language_own_name(const char *code, size_t n);

#endif
