/* sentences LANGUAGE: reads paragraphs, a line each; writes their sentences, a line each, and a blank line
 * behind each paragraph. On standard error the MB/s of splitting, in processor time of one thread; the
 * median of five rounds over the whole text. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/err.h"
#include "common/file.h"
#include "wikiprep/sentence.h"

enum { RUNS = 5 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    struct buf text = BUF_INIT, out = BUF_INIT;
    double seconds[RUNS];
    if (argc != 2 || file_read("-", &text) < 0) {
        fprintf(stderr, "sentences: %s\n", argc == 2 ? err_get() : "which language?");
        return 1;
    }
    struct sentence_model *m = sentence_model_new(argv[1]);
    for (int i = 0; i < RUNS; i++) {
        double begin = now();
        sentence_split_text(m, &out, text.data, text.len);
        seconds[i] = now() - begin;
    }
    fwrite(out.data, 1, out.len, stdout);
    printf("\n");
    qsort(seconds, RUNS, sizeof *seconds, compare);
    fprintf(stderr, "%.1f\n", 1e-6 * (double)text.len / seconds[RUNS / 2]);
    sentence_model_free(m);
    buf_release(&text);
    buf_release(&out);
    return 0;
}
