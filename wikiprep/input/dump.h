/*
 * dump.h - pages of a MediaWiki XML export.
 *
 * Reads any version of the export format (0.1 to 0.11), packed or not (unpack.h), in any encoding
 * and layout that XML allows, with libxml2's push parser: nothing but the page at hand is kept.
 *
 * Of a page with several revisions the one with the latest timestamp counts (of equals the last).
 * Where <ns> is missing, as before version 0.6, the title's prefix decides; where <redirect> is,
 * the text does. Of a document type's entities those that stand for plain text are known.
 */
#ifndef TEXTMILL_WIKIPREP_INPUT_DUMP_H
#define TEXTMILL_WIKIPREP_INPUT_DUMP_H

#include <stddef.h>
#include <stdint.h>

#include "wikiprep/input/unpack.h"
#include "wikiprep/site/dump_page.h"

struct dump;

/* "-" is stdin; `threads` may unpack it: the one that calls dump_read, and those that help. Texts
 * of more than max_text_bytes are left out. NULL with the error set. */
struct dump *dump_open(const char *path, size_t max_text_bytes, int threads);
void dump_close(struct dump *d); /* once nobody helps any more */

/* Unpacks ahead, by any thread at any time: 1, or 0 when there is nothing to do now. */
int dump_help(struct dump *d);

/* Starts threads of its own that help, for those who have no others. */
void dump_start_helpers(struct dump *d);

/* Some streams of a multistream dump: the first, which has <siteinfo>, and streams of pages, as
 * pages_locate finds them. `ranges` is taken. */
struct dump *dump_open_ranges(const char *path, struct unpack_range *ranges, size_t count,
                              size_t max_text_bytes, int threads);

/* One of `count` parts of a dump; see part.h. */
struct dump *dump_open_part(const char *path, uint64_t number, uint64_t count,
                            size_t max_text_bytes, int threads);

/* The next page, into the caller's buffers: 1, 0 at the end, -1. What is wrong with a file (cut
 * short, damaged, no export at all) is reported after the last whole page before it. */
int dump_read(struct dump *d, struct dump_page *page);

/* After -1: 1 when reading can go on with the next page behind the damage, be it bad XML (in UTF-8)
 * or a bzip2 block that cannot be unpacked; 0 when there is none. The error stays set. */
int dump_resume(struct dump *d);

/* Pages so far of which damage left but a part: one end. */
uint64_t dump_pages_cut(const struct dump *d);

/* At the end: the byte of the file behind its bzip2 streams where something else begins, which was
 * left; 0: there is none. */
uint64_t dump_trailing(const struct dump *d);
#define DUMP_TRAILING "'%s': ignored the data after byte %llu: it is not bzip2"

/* What <siteinfo> said; whole once a page was read. */
const struct dump_site *dump_site(const struct dump *d);

/* Bytes read: of the file, and of XML. */
uint64_t dump_packed_bytes(const struct dump *d);
uint64_t dump_xml_bytes(const struct dump *d);

#endif
