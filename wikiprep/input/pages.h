/*
 * pages.h - the pages that the user asked for, by title or id, and their places in a dump.
 *
 * A multistream dump consists of bzip2 streams of a hundred pages each. A line of its index gives
 * the stream of a page:
 *
 *     616:594:Apollo              byte offset of the stream : page id : title
 *
 * With the index, only these streams need to be read, and the first, which describes the wiki.
 */
#pragma once

#include "common/program/opt.h"
#include "wikiprep/input/unpack.h"

struct pages;

/* Creates the list. Each value is an id (digits only), a title (":1984" is the title 1984), or
 * "@FILE", a file with one id or title per line. Returns NULL with the error set. */
struct pages *pages_new(const struct opt_list *values);
void pages_free(struct pages *p);

/* Returns 1 if the page was asked for, and marks it as found. Else returns 0. */
int pages_take(struct pages *p, const char *id, const char *title);

/* Returns 0, or -1 with an error that names a page not found: "there is no page 'X' in 'where'". */
int pages_check_found(const struct pages *p, const char *where);

/* Looks up the pages in the index file of the dump `path`; the index may be compressed. Sets
 * *ranges and *count to the byte ranges to read, for unpack_open_ranges; the caller frees *ranges.
 * Returns 0, or -1 with an error if the index lacks a page, is damaged or is of another dump. */
int pages_locate(struct pages *p, const char *index, const char *path, struct unpack_range **ranges,
                 size_t *count);
