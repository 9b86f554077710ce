/*
 * word_file.h - files of counted words. `tokenize count` writes them, `tokenize train --counts`
 * adds them up.
 *
 *     textmill=words 1                             a line
 *     cut=RULES                                    a line: how text was cut into words
 *                                                  an empty line
 *     rows, in order of their words' bytes:
 *         length of the word, count                two LEB128 numbers; the count is at least 1
 *         the word
 *     0, 0                                         two bytes: the end of the rows
 *     CRC32C of all bytes before                   4 bytes, little-endian
 *
 * Each word has one row, so equal counts give equal files. The counts of files with the same rules
 * may be added. The sums equal the counts of one run over all texts.
 */
#pragma once

#include "common/files/file.h"
#include "tokenizer/learn/word_counts.h"

/* Writes the words of several tables to `out`, and empties the tables. `rules` says how text was
 * cut (RULES above). Sets *words to the number of different words. Returns 0, or -1 with an error
 * if a file cannot be written or read. The caller must then abandon `out`. */
int word_file_write(struct output *out, const char *rules, struct word_counts **tables,
                    size_t count, uint64_t *words);

/* Adds the words of the file `path` ("-" is stdin) to the table `to`, and adds the number of the
 * file's rows to *words. Returns 0, or -1 with an error that names the file if it cannot be read,
 * is damaged or incomplete, or has other rules than `rules`. */
int word_file_read(const char *path, const char *rules, struct word_counts *to, uint64_t *words);
