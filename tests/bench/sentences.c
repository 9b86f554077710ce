/* sentences LANGUAGE: reads paragraphs, one per line. Writes their sentences, one per line, with a
 * blank line after each paragraph. Prints the speed of splitting in MB/s on standard error:
 * processor time of one thread, the median of five rounds over the whole text. */
#include <stdio.h>

#include "common/base/err.h"
#include "common/files/file.h"
#include "tests/bench/clock.h"
#include "wikiprep/sentences/sentence.h"

enum { RUNS = 5 };

int main(int argc, char **argv)
{
    struct buf text = BUF_INIT, out = BUF_INIT;
    double seconds[RUNS];
    if (argc != 2 || file_read_any("-", &text) < 0) {
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
    fprintf(stderr, "%.1f\n", median_rate(seconds, RUNS, text.len));
    sentence_model_free(m);
    buf_release(&text);
    buf_release(&out);
    return 0;
}
