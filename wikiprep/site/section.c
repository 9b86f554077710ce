#include "wikiprep/site/section.h"

#include "wikiprep/site/names.h"
#include "wikiprep/values/knowledge.h"

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
    while (*names) {
        size_t n = strcspn(names, ",");
        if (n == strlen("default") && !memcmp(names, "default", n))
            add_defaults(&all, lang);
        else
            buf_add(&all, names, n);
        buf_addc(&all, ',');
        names += n + (names[n] == ',');
    }
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
    for (const char *s = list->names; *s;) {
        size_t len = strcspn(s, ",");
        if (names_equal(s, len, heading, n))
            return 1;
        s += len + (s[len] == ',');
    }
    return 0;
}
