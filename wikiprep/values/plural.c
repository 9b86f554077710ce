#include "wikiprep/values/plural.h"

#include <math.h>
#include <string.h>

#include "wikiprep/values/knowledge.h"

enum family {
    ENGLISH,
    ZERO_IS_ONE,
    FRENCH,
    UP_TO_ONE,
    RUSSIAN,
    SERBIAN,
    ROMANIAN,
    ARABIC,
    POLISH,
    LATVIAN,
    CZECH,
    SLOVENE,
    LITHUANIAN,
    MACEDONIAN,
    HEBREW,
    WELSH,
    IRISH,
    ICELANDIC,
    SAMI,
    MALTESE
};

static enum family family_of(const char *lang)
{
    static const char *const names[] = {
        [ENGLISH] = "english",
        [ZERO_IS_ONE] = "zero-is-one",
        [FRENCH] = "french",
        [UP_TO_ONE] = "up-to-one",
        [RUSSIAN] = "russian",
        [SERBIAN] = "serbian",
        [ROMANIAN] = "romanian",
        [ARABIC] = "arabic",
        [POLISH] = "polish",
        [LATVIAN] = "latvian",
        [CZECH] = "czech",
        [SLOVENE] = "slovene",
        [LITHUANIAN] = "lithuanian",
        [MACEDONIAN] = "macedonian",
        [HEBREW] = "hebrew",
        [WELSH] = "welsh",
        [IRISH] = "irish",
        [ICELANDIC] = "icelandic",
        [SAMI] = "sami",
        [MALTESE] = "maltese",
    };
    const char *rule = knowledge_find("plural", lang, "rule");
    for (size_t i = 0; rule && i < sizeof names / sizeof *names; i++)
        if (!strcmp(rule, names[i]))
            return (enum family)i;
    return ENGLISH;
}

static int between(int v, int low, int high)
{
    return v >= low && v <= high;
}

/* n is whole; ten and hundred are its last digit and two digits. */
static int whole_form(enum family family, double n, int ten, int hundred)
{
    int teen = between(hundred, 11, 19), one = ten == 1 && hundred != 11;
    int few = between(ten, 2, 4) && !between(hundred, 12, 14);
    switch (family) {
    case ZERO_IS_ONE:
    case FRENCH:
    case UP_TO_ONE: return n > 1;
    case RUSSIAN:
    case SERBIAN: return one ? 0 : few ? 1 : 2;
    case ROMANIAN: return n == 1 ? 0 : n == 0 || between(hundred, 1, 19) ? 1 : 2;
    case ARABIC: return n <= 2 ? (int)n : between(hundred, 3, 10) ? 3 : hundred > 10 ? 4 : 5;
    case POLISH: return n == 1 ? 0 : few ? 1 : 2;
    case LATVIAN: return !ten || teen ? 0 : one ? 1 : 2;
    case CZECH: return n == 1 ? 0 : n >= 2 && n <= 4 ? 1 : 3;
    case SLOVENE: return hundred == 1 ? 0 : hundred == 2 ? 1 : between(hundred, 3, 4) ? 2 : 3;
    case LITHUANIAN: return teen || !ten ? 3 : ten == 1 ? 0 : 1;
    case MACEDONIAN:
    case ICELANDIC: return !one;
    case HEBREW: return n == 1 ? 0 : n == 2 ? 1 : n > 10 && !ten ? 2 : 3;
    case WELSH: return n <= 3 ? (int)n : n == 6 ? 4 : 5;
    case IRISH: return n == 1 ? 0 : n == 2 ? 1 : n >= 3 && n <= 6 ? 2 : n >= 7 && n <= 10 ? 3 : 4;
    case SAMI: return n == 1 ? 0 : n == 2 ? 1 : 2;
    case MALTESE:
        return n == 1                              ? 0
               : n == 0 || between(hundred, 2, 10) ? 1
               : between(hundred, 11, 19)          ? 2
                                                   : 3;
    default: return n != 1;
    }
}

int plural_form(const char *lang, double n)
{
    enum family family = family_of(lang);
    if (n == floor(n) && n < 1e15)
        return whole_form(family, n, (int)fmod(n, 10), (int)fmod(n, 100));
    switch (family) {
    case ZERO_IS_ONE: return n > 1;
    case FRENCH: return n >= 2;
    case ROMANIAN: return 1;
    case RUSSIAN:
    case POLISH:
    case SLOVENE:
    case HEBREW:
    case MALTESE: return 3;
    case IRISH: return 4;
    case ARABIC:
    case WELSH: return 5;
    case SERBIAN:
    case LATVIAN:
    case CZECH:
    case LITHUANIAN:
    case SAMI: return 2;
    case ICELANDIC: return 0;
    default: return 1;
    }
}
