/*
 * variant.h - the variants of a language that is written in several ways, such as zh-hans and
 * zh-tw, and the words that differ in the chosen one.
 *
 * As in MediaWiki's LanguageConverter. Once the tables are read, nothing changes, and threads may
 * share them.
 */
#pragma once

#include "wikiprep/site/replacements.h"

enum { VARIANTS_MAX = 10 };

struct variants {
    const char *list; /* their codes, each with other names: "zh|zh-hans|zh-cn zh-hans-cn" */
    struct span codes[VARIANTS_MAX]; /* without the other names; the first is the language itself */
    int count, chosen;               /* chosen 0: words are not converted */
    /* For each variant: indices of the variants whose words are used where it has none, best first;
     * -1 ends them. */
    signed char fallbacks[VARIANTS_MAX][VARIANTS_MAX];
    struct span base; /* code of the variant whose table also applies to the chosen one; or empty */
    struct replacements *words; /* what the chosen variant writes differently */
    const char *own, *alien;    /* letters that only the chosen variant has; that only another
                                 * has; NULL: the variants do not differ in alphabet */
};

/* Returns 1 if a language has variants, else 0. */
int variants_has(const char *lang);

/* Returns the variants of the language, with the variant `code` chosen (NULL: none). Returns NULL
 * with an error if the language does not have this variant. */
struct variants *variants_new(const char *lang, const char *code);
void variants_free(struct variants *v);

/* Returns the name of a variant or of a language; "" if it is not known. */
const char *variants_name(struct span code);
