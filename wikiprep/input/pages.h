/*
 * pages.h - pages that somebody asked for, by title or id, and where they are.
 *
 * A multistream dump is bzip2 streams of a hundred pages each; its index says in which a page is:
 *
 *     616:594:Apollo              byte where the stream begins : page's id : title
 *
 * so that only those streams need be read, and the first, which says what wiki it is.
 */
#ifndef TEXTMILL_WIKIPREP_INPUT_PAGES_H
#define TEXTMILL_WIKIPREP_INPUT_PAGES_H

#include "common/opt.h"
#include "wikiprep/input/unpack.h"

struct pages;

/* Each value is an id (digits alone), a title (":1984" is the title 1984), or "@FILE" with one or
 * the other a line. NULL with the error set. */
struct pages *pages_new(const struct opt_list *values);
void pages_free(struct pages *p);

/* Whether the page was asked for; it counts as found. */
int pages_take(struct pages *p, const char *id, const char *title);

/* 0, or -1 with an error that names a page that was not found: "there is no page 'X' in 'where'".
 */
int pages_check_found(const struct pages *p, const char *where);

/* Finds the pages of the dump `path` in its index, which may be packed: the ranges of bytes to
 * read, for unpack_open_ranges; the caller frees them. -1 where the index lacks one, is damaged, or
 * belongs to another dump. */
int pages_locate(const struct pages *p, const char *index, const char *path,
                 struct unpack_range **ranges, size_t *count);

#endif
