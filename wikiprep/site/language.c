#include "wikiprep/site/language.h"

#include "wikiprep/values/knowledge.h"

int language_has_data(const char *code, size_t n)
{
    enum { CODE_MAX = 12 };
    char key[CODE_MAX + 1];
    return span_copy((struct span){ code, n }, key, sizeof key) && knowledge_find("files", key, "");
}

size_t language_known(const char *code)
{
    const size_t n = strlen(code), base = strcspn(code, "-");
    return !language_has_data(code, n) && language_has_data(code, base) ? base : n;
}

int language_lacks_data(const char *code, struct buf *out)
{
    if (language_has_data(code, strlen(code)))
        return 0;
    if (*code)
        buf_setf(out, "no data for the language '%s': ", code);
    else
        buf_setf(out, "the dump names no language, and --language is not given: ");
    buf_adds(out, "headings, magic words and dates are taken for English, and sentences end by the "
                  "rules of all languages");
    return 1;
}

const char *language_name(const char *code, size_t n, const char *wiki)
{
    struct span key = { code, n }; /* "gem-pro" has its own name */
    if (!knowledge_find_code("languages", "en", "", key))
        key = span_between(code, span_until(code, code + n, '-')); /* "sr-Latn" */
    const char *own = knowledge_language(wiki);
    const char *english = knowledge_find_code("languages", "en", "", key);
    const char *name = english ? knowledge_find_code("languages", own, "", key) : NULL;
    return name || knowledge_find("languages", own, "en") ? name : english;
}

struct span language_country(struct span code, const char *wiki)
{
    enum { LETTERS = 3 };
    for (size_t i = 0; i < LETTERS; i++)
        if (code.n != LETTERS || code.s[i] < 'A' || code.s[i] > 'Z')
            return (struct span){ "", 0 };
    const char *names = knowledge_find("countries", "", wiki);
    int place = names ? span_place(code, knowledge_find("countries", "", "codes")) : -1;
    if (place < 0)
        return (struct span){ "", 0 };
    struct span name = span_item(names, place);
    return (struct span){ name.s, *name.s == '-' ? 0 : name.n };
}

char *language_sections(const char *headings, const char *lang)
{
    const char *defaults = knowledge_find("sections", knowledge_language(lang), "default");
    if (!defaults)
        defaults = knowledge_find("sections", "en", "default");
    struct buf all = BUF_INIT;
    for (struct span name; span_next(&headings, ',', &name); buf_addc(&all, ','))
        if (span_is(span_trim(name), "default"))
            buf_add_replaced(&all, defaults, strlen(defaults), "|", 1, ",", 1);
        else
            span_put(name, &all);
    return buf_detach(&all);
}
