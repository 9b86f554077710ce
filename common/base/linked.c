#include "common/base/linked.h"

#include "common/base/std.h"

static struct linked_library *libraries;

const struct linked_library *linked_libraries(void)
{
    return libraries;
}

void linked_add(struct linked_library *library)
{
    struct linked_library **at = &libraries;
    while (*at && strcmp((*at)->name, library->name) < 0)
        at = &(*at)->next;
    library->next = *at;
    *at = library;
}
