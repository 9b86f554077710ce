/* library VOCABULARY TEXT THREADS: MB/s of libtextmill-tokenizer from C, wall clock: the lines of
 * TEXT in one batch. The best of five rounds, as library.py measures the binding. */
#include "library/textmill-tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/err.h"
#include "common/file.h"
#include "common/mem.h"

static double wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the ends of the lines, and sets *count to their number. */
static uint64_t *find_lines(const struct buf *text, uint64_t *count)
{
    uint64_t *ends = NULL;
    size_t n = 0, cap = 0;
    for (size_t at = 0; at < text->len; n++) {
        const char *end = memchr(text->data + at, '\n', text->len - at);
        at = end ? (size_t)(end + 1 - text->data) : text->len;
        mem_grow(ends, cap, n + 1);
        ends[n] = at;
    }
    *count = n;
    return ends;
}

static int measure(struct textmill_tokenizer *t, const struct buf *text, int threads)
{
    enum { ROUNDS = 5 };
    struct textmill_error why;
    uint64_t lines, *ends = find_lines(text, &lines);
    double best = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct textmill_tokens tokens;
        double begin = wall();
        if (textmill_encode(t, text->data, ends, lines, 0, threads, &tokens, &why) < 0) {
            fprintf(stderr, "%s\n", why.text);
            return 1;
        }
        double rate = 1e-6 * (double)text->len / (wall() - begin);
        best = rate > best ? rate : best;
        textmill_tokens_free(&tokens);
    }
    printf("textmill=%.1f\n", best);
    free(ends);
    return 0;
}

int main(int argc, char **argv)
{
    struct buf text = BUF_INIT;
    struct textmill_error why;
    struct textmill_tokenizer *t = argc == 4 ? textmill_open(argv[1], NULL, &why) : NULL;
    if (!t || file_read(argv[2], &text) < 0) {
        fprintf(stderr, "usage: library VOCABULARY TEXT THREADS\n");
        return 2;
    }
    int failed = measure(t, &text, atoi(argv[3]));
    textmill_close(t);
    buf_release(&text);
    return failed;
}
