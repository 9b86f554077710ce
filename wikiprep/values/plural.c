#include "wikiprep/values/plural.h"

#include <math.h>
#include <string.h>

#include "wikiprep/values/span.h"

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

static const struct {
    enum family family;
    const char *languages;
} families[] = {
    { ZERO_IS_ONE, "am|anp|awa|azb|bn|bpy|fa|glk|gu|hi|kn|lrc|mai|mr|mzn|sa|tcy|zu" },
    { FRENCH, "atj|bm|ff|fr|frp|gcr|ht|hy|hyw|kab|nrm|pcd|sg|ty|wo|zgh" },
    { UP_TO_ONE, "ak|bh|bho|guw|ln|mg|mwl|nso|pa|pt|pt-br|si|tet|ti|wa" },
    { RUSSIAN,
      "ab|alt|av|ba|be|be-tarask|be-x-old|bxr|ce|cv|inh|koi|krc|kv|lbe|lez|mdf|mhr|mrj|myv|ru|"
      "rue|sah|tt|tyv|udm|uk|xal" },
    { SERBIAN, "bs|hr|sh|sr" },
    { ROMANIAN, "mo|rmy|ro|roa-rup|rup" },
    { ARABIC, "ar|ary|arz" },
    { POLISH, "csb|pl|szl" },
    { LATVIAN, "lv|ltg" },
    { CZECH, "cs|sk" },
    { SLOVENE, "sl|dsb|hsb" },
    { LITHUANIAN, "lt" },
    { MACEDONIAN, "mk" },
    { HEBREW, "he" },
    { WELSH, "cy" },
    { IRISH, "ga" },
    { ICELANDIC, "is" },
    { SAMI, "se|iu|kw" },
    { MALTESE, "mt" },
};

static enum family family_of(const char *lang)
{
    struct span code = { lang, strlen(lang) };
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (span_in(code, families[i].languages))
            return families[i].family;
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
