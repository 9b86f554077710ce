#include "wikiprep/site/section.h"

#include "wikiprep/site/names.h"
#include "wikiprep/values/knowledge.h"
#include "wikiprep/values/span.h"

struct section_list {
    char *names; /* comma-separated */
};

/* Returns the names of the default sections, separated by '|'. */
static const char *default_names(const char *lang)
{
    if (!strcmp(lang, "nb") || !strcmp(lang, "nn"))
        lang = "no";
    const char *names = knowledge_find("sections", lang, "default");
    return names ? names : knowledge_find("sections", "en", "default");
}

static void add_defaults(struct buf *out, const char *lang)
{
    for (const char *s = default_names(lang); *s; s++)
        buf_addc(out, *s == '|' ? ',' : *s);
}

struct section_list *section_list_new(const char *names, const char *lang)
{
    struct section_list *list = mem_zalloc(1, sizeof *list);
    struct buf all = BUF_INIT;
    for (struct span name; span_next(&names, ',', &name); buf_addc(&all, ','))
        if (name.n == strlen("default") && !memcmp(name.s, "default", name.n))
            add_defaults(&all, lang);
        else
            span_put(name, &all);
    list->names = buf_detach(&all);
    return list;
}

void section_list_free(struct section_list *list)
{
    if (!list)
        return;
    free(list->names);
    free(list);
}

int section_listed(const struct section_list *list, const char *heading, size_t n)
{
    const char *names = list->names;
    for (struct span name; span_next(&names, ',', &name);)
        if (names_equal(name.s, name.n, heading, n))
            return 1;
    return 0;
}
