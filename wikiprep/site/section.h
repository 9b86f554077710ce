/*
 * section.h - lists of page sections, by heading.
 *
 * The word "default" in a list stands for the headings, in the wiki's language, of the sections
 * that hold no prose: notes, references, literature, links. A language for which no such headings
 * are known gets the English ones.
 */
#pragma once

#include "common/base/base.h"

#define SECTION_LEAD "lead" /* name of the text before the first heading */

/* Makes a list of comma-separated names, for a wiki in language `lang`. The caller frees it. */
char *section_list_new(const char *names, const char *lang);

/* Returns 1 if the heading is in the list, ignoring case, else 0. Thread-safe. */
int section_listed(const char *list, const char *heading, size_t n);
