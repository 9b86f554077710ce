/*
 * dump.h - reads the pages of a MediaWiki XML export.
 *
 * Reads any version of the export format (0.1 to 0.11), compressed or not (unpack.h), in any
 * encoding and layout that XML allows. It uses libxml2's push parser, so only the current page is
 * in memory.
 *
 * Of the revisions of a page, the one with the latest timestamp is used; of equal ones, the last.
 * Exports may follow each other, as if their files were joined: each has its own <mediawiki>. If
 * <ns> is missing, as before version 0.6, the title's prefix gives the namespace. If <redirect> is
 * missing, the text decides. Of the entities that a document type declares, those that stand for
 * plain text are known.
 */
#pragma once

#include "wikiprep/input/unpack.h"
#include "wikiprep/site/dump_page.h"

struct dump;

/* Opens a dump ("-": stdin). Up to `threads` threads may decompress it: the caller of dump_read,
 * and its helpers. Texts of more than max_text_bytes are left out. Returns NULL with an error. */
struct dump *dump_open(const char *path, size_t max_text_bytes, int threads);
void dump_close(struct dump *d); /* no other thread may call dump_help any more */

/* Decompresses ahead. Any thread may call it at any time. Returns 1, or 0 if there is nothing to do
 * now. */
int dump_help(struct dump *d);

/* Opens some streams of a multistream dump: the first, which has <siteinfo>, and streams of pages,
 * as pages_locate gives them. Takes over `ranges`, also if it fails. Returns NULL with an error. */
struct dump *dump_open_ranges(const char *path, struct unpack_range *ranges, size_t count,
                              size_t max_text_bytes, int threads);

/* Opens the pages that begin in the bytes [begin, end) of a dump; see part.h. Returns NULL with an
 * error. */
struct dump *dump_open_part(const char *path, uint64_t begin, uint64_t end, size_t max_text_bytes,
                            int threads);

/* Reads the next page into the caller's buffers. Returns 1, 0 at the end, or -1 with the error set.
 * If the file is truncated, damaged or not an export, the error is reported after the last whole
 * page before the fault. */
int dump_read(struct dump *d, struct dump_page *page);

/* Call it after dump_read returned -1. Returns 1 if reading can continue with the next page after
 * the damage, which may be bad XML (in UTF-8) or a damaged bzip2 block; else 0. The error message
 * stays set. */
int dump_resume(struct dump *d);

/* What was read so far. */
struct dump_counts {
    uint64_t xml_bytes; /* unpacked */
    uint64_t pages_cut; /* pages that lost an end to damage */
    int exports;        /* exports in the file before the last page's export */
};
const struct dump_counts *dump_counts(const struct dump *d);
uint64_t dump_packed_bytes(const struct dump *d); /* of the file */

/* Returns the data of <siteinfo> of the last page's export; complete once a page was read. */
const struct dump_site *dump_site(const struct dump *d);
