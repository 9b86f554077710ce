/*
 * part.h - one of N parts of an export: the head, and the pages that begin in a range of bytes.
 *
 * Part K of N has the bytes [(K-1) size / N, K size / N) of the files, one after the other. A page
 * belongs to the part in which its "<page" begins. In a bzip2 file, the block with its "<page" must
 * begin in the part. Other packed files are unpacked from their start, in pieces; the packed bytes
 * of the piece must end in the part (unpack_start_part). So each page is in exactly one part, and
 * the parts in order are the whole dump. A part reads past its range until its last page ends. It
 * also reads the head of the file, up to </siteinfo>.
 *
 * The '<' of "<page" is always markup, because XML writes '<' in text as "&lt;".
 */
#pragma once

#include "wikiprep/input/unpack.h"

struct part;

/* Makes the part of the bytes [begin, end) of the open file `in`, which is borrowed. Returns NULL
 * with the error set. */
struct part *part_open(struct unpack *in, uint64_t begin, uint64_t end, int threads);
void part_close(struct part *p);

/* Reads up to n bytes of the part, as unpack_read does. */
int64_t part_read(struct part *p, void *bytes, size_t n);

/* After part_read returned 0: returns 1 if the part ended before the end of the file, else 0. */
int part_is_cut(const struct part *p);

/* Returns the offset of the first "<page" tag in s[0..n), or n if there is none. */
size_t part_find_page(const char *s, size_t n);
