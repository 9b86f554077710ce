/* encode VOCABULARY FILE...: prints the speed in MB/s of a new encoder ("cold"), of the same
 * encoder again ("warm"), and of decoding. Times are processor time of one thread; each result is
 * the median of five. */
#include <stdio.h>

#include "common/base/err.h"
#include "common/files/file.h"
#include "tests/bench/clock.h"
#include "tokenizer/tokenizer.h"

enum { RUNS = 5 };

static int measure(const struct tokenizer *t, const struct buf *text)
{
    double cold[RUNS], warm[RUNS], back[RUNS];
    struct ids ids = { 0 };
    struct buf out = BUF_INIT;
    for (int i = 0; i < RUNS; i++) {
        struct encoder *e = encoder_new(t);
        double begin = now();
        for (int again = 0; again < 2; again++) {
            ids.count = 0;
            if (encoder_encode(e, text->data, text->len, TOKENIZER_ORDINARY, &ids) < 0)
                return -1;
            (again ? warm : cold)[i] = now() - begin;
            begin = now();
        }
        buf_clear(&out);
        if (tokenizer_decode(t, ids.data, ids.count, 0, &out) < 0)
            return -1;
        back[i] = now() - begin;
        encoder_free(e);
    }
    printf("cold=%.1f warm=%.1f decode=%.1f tokens=%zu\n", median_rate(cold, RUNS, text->len),
           median_rate(warm, RUNS, text->len), median_rate(back, RUNS, out.len), ids.count);
    ids_release(&ids);
    buf_release(&out);
    return 0;
}

int main(int argc, char **argv)
{
    struct buf text = BUF_INIT;
    struct tokenizer *t = argc > 1 ? tokenizer_load(argv[1]) : NULL;
    int result = t ? 0 : -1;
    for (int i = 2; i < argc && !result; i++)
        result = file_read(argv[i], &text);
    if (result < 0 || measure(t, &text) < 0) {
        fprintf(stderr, "encode: %s\n", err_get());
        return 1;
    }
    tokenizer_free(t);
    buf_release(&text);
    return 0;
}
