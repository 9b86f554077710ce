#include "wikiprep/values/plural.h"

#include "wikiprep/values/knowledge.h"

int plural_form(const char *lang, double n)
{
    const char *rule = knowledge_find("plural", lang, "rule");
    for (size_t i = 0; rule && i < plural_rules_count; i++)
        if (!strcmp(rule, plural_rules[i].name))
            return plural_rules[i].form(n);
    return n != 1;
}
