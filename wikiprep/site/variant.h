/*
 * variant.h - the variants of a language that is written in several ways, such as zh-hans and
 * zh-tw, and the words that differ in the chosen one.
 *
 * As in MediaWiki's LanguageConverter. Nothing of it changes once the tables are read; so threads
 * share it.
 */
#pragma once

#include "wikiprep/site/replacements.h"

enum { VARIANTS_MAX = 10 };

struct variants {
    const char *list;           /* codes and their other names: "zh|zh-hans|zh-cn zh-hans-cn" */
    int count, chosen;          /* 0: the language itself; its words are not converted */
    struct replacements *words; /* what is written otherwise in the chosen variant */
    const char *own, *alien; /* letters of the chosen alphabet alone, and of the others; NULL: the
                                variants are no alphabets */
};

/* Returns 1 if a language has variants, else 0. */
int variants_has(const char *lang);

/* Returns the variants of the language with the chosen one, or without one (code NULL). Returns
 * NULL with an error if the language does not have this variant. */
struct variants *variants_new(const char *lang, const char *code);
void variants_free(struct variants *v);

int variants_find(const struct variants *v, struct span code); /* the variant's number, or -1 */
struct span variants_code(const struct variants *v, int variant);

/* Returns the number of a variant whose words are used where `variant` has none: that of its first
 * choice with fallback 0, of its second with 1, and so on; -1 if it has no more. */
int variants_fallback(const struct variants *v, int variant, int fallback);

/* Returns the code of the variant whose table also applies to the chosen one; an empty span: none.
 */
struct span variants_base(const struct variants *v);

/* Returns the name of a variant, or of a language, "" if it is not known. */
const char *variants_name(struct span code);
