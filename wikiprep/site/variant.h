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
 * NULL with an error if the language has not this variant. */
struct variants *variants_new(const char *lang, const char *code);
void variants_free(struct variants *v);

/* Returns the number of a variant, or -1; its code; the number of the variant whose words are taken
 * for one that has none, "fallback" 0 being the first, or -1. */
int variants_find(const struct variants *v, struct span code);
struct span variants_code(const struct variants *v, int variant);
int variants_fallback(const struct variants *v, int variant, int fallback);

/* Returns the code of the variant whose table the chosen one has, too; an empty span: none. */
struct span variants_base(const struct variants *v);

/* Returns the name of a variant, or of a language, "" if it is not known. */
const char *variants_name(struct span code);
