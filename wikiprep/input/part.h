/*
 * part.h - one of N parts of an export: its head, and the pages that begin in a range of bytes.
 *
 * Part K of N has the bytes [(K-1) size / N, K size / N) of the file. A page belongs to the part in
 * which its "<page" begins; of a bzip2 file, in which the block begins that has it. So each page is
 * in exactly one part, and the parts in order are the whole. A part reads on behind its range until
 * its last page ends. Of what is before its range it reads the head, up to </siteinfo>.
 *
 * In "<page" as a tag the sign '<' is markup: in text, XML writes "&lt;".
 */
#ifndef TEXTMILL_WIKIPREP_INPUT_PART_H
#define TEXTMILL_WIKIPREP_INPUT_PART_H

#include <stddef.h>
#include <stdint.h>

struct part;

/* Part `number`, from 1, of `count`. The file is plain or bzip2; NULL with the error set. */
struct part *part_open(const char *path, uint64_t number, uint64_t count, int threads);
void part_close(struct part *p); /* once nobody helps any more */

/* As unpack_read, unpack_resume, unpack_help and unpack_packed; the last is of the range alone. */
int64_t part_read(struct part *p, void *bytes, size_t n);
int part_resume(struct part *p);
int part_help(struct part *p);
uint64_t part_packed(const struct part *p);

/* At the end: whether it is that of the part's pages, and not the file's. */
int part_is_cut(const struct part *p);

/* The first <page in s[0..n): its offset, or n. */
size_t part_find_page(const char *s, size_t n);

#endif
