/* Names of languages. */
#include <criterion/criterion.h>
#include <string.h>

#include "wikiprep/site/language.h"

static void check(const char *code, const char *wiki, const char *name)
{
    const char *got = language_name(code, strlen(code), wiki);
    cr_expect(name ? got && !strcmp(got, name) : !got, "%s in %s: %s", code, wiki,
              got ? got : "none");
}

Test(language, in_the_language_of_the_wiki)
{
    check("ru", "en", "Russian");
    check("ru", "ja", "ロシア語");
    check("ru", "it", "russo");
    check("ru", "de", "russisch");
    check("ar", "ca", "àrab"); /* the first and the last of a row */
    check("zh", "fr", "chinois");
    check("zh", "uk", "кит.");
    check("la", "nn", "latin");
    check("sr-Latn", "pl", "serb.");
}

Test(language, english_where_that_is_not_known)
{
    check("ru", "ltg", "Russian");
    check("ace", "de", "Acehnese");
    check("not-a-code", "de", NULL);
    check("averylongcodethatisnone", "de", NULL);
}
