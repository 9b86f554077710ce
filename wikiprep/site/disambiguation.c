#include "wikiprep/site/disambiguation.h"

#include "wikiprep/site/names.h"
#include "wikiprep/values/knowledge.h"
#include "wikiprep/values/span.h"

enum { NAME_MAX_BYTES = 64 };

static int marks_one(const char *name, size_t n)
{
    const struct knowledge_row *rows;
    struct span item;
    size_t count = knowledge_section("disambiguation", NULL, &rows);
    for (size_t i = 0; i < count; i++)
        for (const char *s = rows[i].value; span_next(&s, '|', &item);)
            if (names_equal(name, n, item.s, item.n))
                return 1;
    return 0;
}

int disambiguation_page(const char *text, size_t n)
{
    const char *end = text + n;
    if (memmem(text, n, "__DISAMBIG__", strlen("__DISAMBIG__")))
        return 1;
    for (const char *s = text; (s = memmem(s, (size_t)(end - s), "{{", 2)); s += 2) {
        const size_t len = strcspn(s + 2, "|}\n{");
        if (len < NAME_MAX_BYTES && s + 2 + len < end && marks_one(s + 2, len))
            return 1;
    }
    return 0;
}
