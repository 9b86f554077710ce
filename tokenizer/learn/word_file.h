/*
 * word_file.h - files of counted words: what `tokenize count` writes and `tokenize train --counts`
 * adds up.
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
 * Each word has one row, so equal counts give equal files. Words of files with the same rules may
 * be added up, and give the counts of one run over all texts.
 */
#ifndef TEXTMILL_TOKENIZER_LEARN_WORD_FILE_H
#define TEXTMILL_TOKENIZER_LEARN_WORD_FILE_H

#include <stddef.h>

#include "common/file.h"
#include "tokenizer/learn/word_counts.h"

/* Writes all words of some tables, which are empty afterwards. Returns -1 if a file cannot be
 * written or read; the caller abandons `out` then. *words: how many different words there are. */
int word_file_write(struct output *out, const char *rules, struct word_counts **tables,
                    size_t count, uint64_t *words);

/* Adds the words of the file at `path` ("-" is stdin) to a table, and their number to *words. -1
 * with an error that names the file: it cannot be read, is damaged or incomplete, or has other
 * rules. */
int word_file_read(const char *path, const char *rules, struct word_counts *to, uint64_t *words);

#endif
