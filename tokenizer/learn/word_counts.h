/*
 * word_counts.h - the different words of a corpus and how often each occurs, in bounded memory.
 *
 * Words are counted in a hash table, one a thread. A table that reaches its limit is sorted and
 * written to a file, a run, and starts anew; at the end the runs of all threads are merged. What
 * comes out does not depend on the limit, nor on how the texts fell to the threads.
 *
 * A run is rows in order of their words' bytes, each word once:
 *
 *     length of the word, count    two LEB128 numbers
 *     the word
 *
 * Runs have no name: they lie in a folder of the caller's choice and are gone with the process.
 */
#ifndef TEXTMILL_TOKENIZER_LEARN_WORD_COUNTS_H
#define TEXTMILL_TOKENIZER_LEARN_WORD_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

struct counted_word {
    size_t at; /* bytes.data[at..at+len) */
    uint32_t len;
    uint32_t hash; /* of the table that counted it */
    uint64_t count;
};

struct counted_words {
    struct buf bytes;
    struct counted_word *words;
    size_t count, cap;
};

#define COUNTED_WORDS_INIT                                                                         \
    {                                                                                              \
        BUF_INIT, NULL, 0, 0                                                                       \
    }
void counted_words_release(struct counted_words *l);

/* One thread's table. */
struct word_counts;

/* `limit_bytes` bounds its memory, beside 64 KiB for each run that is merged; 0: no bound.
 * Runs go to `folder`, which is borrowed. */
struct word_counts *word_counts_new(size_t limit_bytes, const char *folder);
void word_counts_free(struct word_counts *w); /* NULL is fine */

/* Counts a word of any bytes, `count` times. -1: a run cannot be written. */
int word_counts_add(struct word_counts *w, const char *word, size_t n, uint64_t count);

/* All words of some tables together that occur `least` times or more, into `out`, which is empty.
 * The tables are empty afterwards. Where none was written to a file the order is any, else that
 * of the bytes. */
int word_counts_join(struct counted_words *out, struct word_counts **tables, size_t count,
                     uint64_t least);

/* Hands all words of some tables together to `put`, in order of their bytes. The tables are empty
 * afterwards. -1: `put` failed, or a run cannot be read or written. */
typedef int word_put(void *ctx, const char *word, size_t n, uint64_t count);
int word_counts_each(struct word_counts **tables, size_t count, word_put *put, void *ctx);

/* A row as bytes: appends one, and reads the two numbers in front of a word. word_row_get returns
 * how many bytes they take, 0 if p[0..n) does not begin with two numbers. */
enum { WORD_ROW_HEAD_MAX = 20 };
void word_row_put(struct buf *out, const char *word, size_t n, uint64_t count);
size_t word_row_get(const char *p, size_t n, uint64_t *len, uint64_t *count);

/* Reads a run of `bytes` bytes from a file's start and hands each row to `put`. -1: it cannot be
 * read, or is not a run; `name` stands in errors. */
int word_run_read(int fd, const char *name, word_put *put, void *ctx);

#endif
