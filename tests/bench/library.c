/* library VOCABULARY TEXT THREADS: MB/s of libtextmill-tokenizer from C, wall clock, on so many
 * threads: `batch`, the lines of TEXT in one call; `lines`, a call for each line, by threads that
 * share the tokenizer; `decode`, the ids of all lines in one call. The best of five rounds, as
 * library.py measures the binding. Exits 1 if the ids differ or are not those of the text. */
#include "library/textmill-tokenizer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/files/file.h"

enum { ROUNDS = 5 };

struct work {
    struct textmill_tokenizer *t;
    struct buf text;
    uint64_t *ends, lines; /* the ends of the lines */
    int threads;
};

/* What one thread encodes: lines [first, end). */
struct share {
    const struct work *w;
    uint64_t first, end, ids;
    int failed;
};

static double wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void find_lines(struct work *w)
{
    size_t cap = 0;
    for (size_t at = 0; at < w->text.len; w->lines++) {
        const char *end = memchr(w->text.data + at, '\n', w->text.len - at);
        at = end ? (size_t)(end + 1 - w->text.data) : w->text.len;
        mem_grow(w->ends, cap, w->lines + 1);
        w->ends[w->lines] = at;
    }
}

static void *encode_share(void *arg)
{
    struct share *s = arg;
    struct textmill_error why;
    for (uint64_t i = s->first; i < s->end && !s->failed; i++) {
        struct textmill_tokens tokens;
        const uint64_t begin = i ? s->w->ends[i - 1] : 0, end = s->w->ends[i] - begin;
        s->failed = textmill_encode(s->w->t, s->w->text.data + begin, &end, 1, 0, 1, &tokens, &why);
        if (s->failed)
            break;
        s->ids += tokens.ends[0];
        textmill_tokens_free(&tokens);
    }
    return NULL;
}

/* Encodes each line in a call of its own. Returns the number of ids, or -1. */
static int64_t encode_lines(const struct work *w)
{
    const uint64_t n = (uint64_t)w->threads;
    struct share *shares = mem_zalloc(n, sizeof *shares);
    pthread_t *threads = mem_zalloc(n, sizeof *threads);
    int64_t ids = 0;
    for (uint64_t i = 0; i < n; i++) {
        shares[i] = (struct share){ w, w->lines * i / n, w->lines * (i + 1) / n, 0, 0 };
        if (pthread_create(&threads[i], NULL, encode_share, &shares[i]))
            exit(1);
    }
    for (uint64_t i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        ids = ids < 0 || shares[i].failed ? -1 : ids + (int64_t)shares[i].ids;
    }
    free(threads);
    free(shares);
    return ids;
}

static void better(double *best, const struct work *w, double begin)
{
    double rate = 1e-6 * (double)w->text.len / (wall() - begin);
    *best = rate > *best ? rate : *best;
}

/* Decodes the ids. Returns 0 if the text comes out, else -1. */
static int decode(const struct work *w, const struct textmill_tokens *tokens, double *best)
{
    struct textmill_error why;
    struct textmill_texts texts;
    double begin = wall();
    if (textmill_decode(w->t, tokens->ids, tokens->ends, tokens->texts, 0, w->threads, &texts,
                        &why))
        return err_set("%s", why.text);
    better(best, w, begin);
    int same = texts.ends[texts.texts - 1] == w->text.len &&
               !memcmp(texts.bytes, w->text.data, w->text.len);
    textmill_texts_free(&texts);
    return same ? 0 : err_set("another text is decoded");
}

static int measure(const struct work *w)
{
    double batch = 0, lines = 0, decoded = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct textmill_error why;
        struct textmill_tokens tokens;
        double begin = wall();
        if (textmill_encode(w->t, w->text.data, w->ends, w->lines, 0, w->threads, &tokens, &why))
            return err_set("%s", why.text);
        better(&batch, w, begin);
        begin = wall();
        const int64_t ids = encode_lines(w);
        better(&lines, w, begin);
        if (ids != (int64_t)tokens.ends[w->lines - 1])
            return err_set("line by line, there are other ids");
        int result = decode(w, &tokens, &decoded);
        textmill_tokens_free(&tokens);
        if (result < 0)
            return -1;
    }
    printf("batch=%.1f lines=%.1f decode=%.1f\n", batch, lines, decoded);
    return 0;
}

int main(int argc, char **argv)
{
    struct textmill_error why;
    struct work w = { .text = BUF_INIT, .threads = argc == 4 ? atoi(argv[3]) : 0 };
    w.t = argc == 4 ? textmill_open(argv[1], NULL, &why) : NULL;
    if (!w.t || w.threads < 1 || file_read(argv[2], &w.text) < 0 || !w.text.len) {
        fprintf(stderr, "usage: library VOCABULARY TEXT THREADS\n");
        return 2;
    }
    find_lines(&w);
    int failed = measure(&w) < 0;
    if (failed)
        fprintf(stderr, "library: %s\n", err_get());
    textmill_close(w.t);
    buf_release(&w.text);
    free(w.ends);
    return failed;
}
