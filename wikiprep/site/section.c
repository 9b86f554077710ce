#include "wikiprep/site/section.h"

#include "wikiprep/site/names.h"
#include "wikiprep/values/knowledge.h"
#include "wikiprep/values/span.h"

/* Returns the names of the default sections, separated by '|'. */
static const char *default_names(const char *lang)
{
    if (!strcmp(lang, "nb") || !strcmp(lang, "nn"))
        lang = "no";
    const char *names = knowledge_find("sections", lang, "default");
    return names ? names : knowledge_find("sections", "en", "default");
}

char *section_list_new(const char *names, const char *lang)
{
    const char *defaults = default_names(lang);
    struct buf all = BUF_INIT;
    for (struct span name; span_next(&names, ',', &name); buf_addc(&all, ','))
        if (span_is(span_trim(name), "default"))
            buf_add_replaced(&all, defaults, strlen(defaults), "|", 1, ",", 1);
        else
            span_put(name, &all);
    return buf_detach(&all);
}

int section_listed(const char *list, const char *heading, size_t n)
{
    return names_listed(list, ',', heading, n);
}
