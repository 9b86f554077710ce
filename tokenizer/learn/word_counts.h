/*
 * word_counts.h - counts the different words of a corpus, in bounded memory.
 *
 * Each thread counts words in its own hash table. A table that reaches its memory limit is sorted,
 * written to a file (a run), and emptied. When a thread has many runs, it merges them into one. At
 * the end the runs of all threads are merged. The result depends neither on the limit nor on which
 * thread counted which text.
 *
 * A run is a sequence of rows, sorted by the bytes of the words; each word occurs once. A row is
 *
 *     length of the word, count    two LEB128 numbers
 *     the word
 *
 * Runs are unnamed files in a folder that the caller chooses. They disappear when the process
 * ends.
 */
#pragma once

#include "common/files/file.h"

struct counted_word {
    size_t at; /* the word is bytes.data[at..at+len) */
    uint32_t len;
    uint32_t hash; /* hash in the table that counted the word */
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

/* The hash table and the runs of one thread. */
struct word_counts;

/* Makes an empty table. `limit_bytes` limits its memory, to 64 KiB or more; 0: no limit. Beside it
 * there are 256 KiB for recent words and, while runs are merged, 256 KiB for each run. Runs are
 * written in the folder `folder`, which is borrowed. */
struct word_counts *word_counts_new(size_t limit_bytes, const char *folder);
void word_counts_free(struct word_counts *w); /* does nothing if w is NULL */

/* Adds `count` to the count of a word, which may be any bytes. Returns 0, or -1 with an error if
 * the word is 4 GiB or longer, or a run cannot be written. */
int word_counts_add(struct word_counts *w, const char *word, size_t n, uint64_t count);

/* Adds up the counts of each word over `count` tables, and puts the words that occur at least
 * `least` times into `out`, which must be empty. Empties the tables. If no table has runs, the
 * words are in no particular order; otherwise they are sorted by their bytes. Returns 0, or -1 with
 * an error. */
int word_counts_join(struct counted_words *out, struct word_counts **tables, size_t count,
                     uint64_t least);

/* Adds up the counts of each word over `count` tables, and calls `put` for each word, in order of
 * the words' bytes. Empties the tables. Returns 0; or -1 if `put` fails, or with an error if a
 * run cannot be read or written. */
typedef int word_put(void *ctx, const char *word, size_t n, uint64_t count);
int word_counts_each(struct word_counts **tables, size_t count, word_put *put, void *ctx);

/* A row of a run, and of the files of word_file.h. */
struct word_row {
    const char *word;  /* in the input's buffer */
    size_t len, bytes; /* bytes: of the whole row */
    uint64_t count;
};

/* word_row_put appends a row. word_row_read sets *row to the row at the input's position; it is
 * valid until the next call for this input, and the caller skips its bytes. Returns 1, 0 at the end
 * of the input, or -1 with an error. word_bad sets an error with the place in the input; it returns
 * -1. */
void word_row_put(struct buf *out, const char *word, size_t n, uint64_t count);
int word_row_read(struct input *in, struct word_row *row);
int word_bad(const struct input *in, const char *what);
