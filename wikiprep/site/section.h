/*
 * section.h - sections of a page by the names of their headings.
 *
 * "default" in a list stands for the sections that hold no prose in the wiki's language: notes,
 * references, literature, links (in languages of the larger wikis; English elsewhere).
 */
#ifndef TEXTMILL_WIKIPREP_SITE_SECTION_H
#define TEXTMILL_WIKIPREP_SITE_SECTION_H

#include <stddef.h>

#define SECTION_LEAD "lead" /* the text in front of the first heading */

struct section_list;

/* Of names with commas between, for a wiki in the language with this code. */
struct section_list *section_list_new(const char *names, const char *lang);
void section_list_free(struct section_list *list);

/* Whether the heading is in the list; case does not matter. Thread-safe. */
int section_listed(const struct section_list *list, const char *heading, size_t n);

#endif
