/* masked_pairs PAIR@MAP VOCABULARY LENGTH SEED COUNT OUT: writes the first COUNT training samples
 * of a Megatron pair and its map, for tests/peers/masked_pairs.py. For each sample i32: next,
 * length, ids[LENGTH], segments[LENGTH], labels[LENGTH]; LENGTH 0 is that of the data. */
#include <stdio.h>
#include <stdlib.h>

#include "common/err.h"
#include "tokenizer/tokenizer.h"
#include "train/samples/batches.h"
#include "train/samples/samples.h"

static void put(FILE *f, const void *values, size_t n)
{
    fwrite(values, 4, n, f);
}

static int write_samples(struct samples *s, uint64_t count, FILE *f)
{
    struct sequences row;
    sequences_init(&row, 1, s->T, 1);
    for (uint64_t k = 0; k < count; k++) {
        row.count = 0;
        for (int64_t i = 0; i < s->T; i++)
            row.ids[i] = 0;
        if (batches_draw(s, 99, k, &row) < 0)
            return -1;
        const int32_t head[] = { row.next[0], (int32_t)row.lengths[0] };
        put(f, head, 2);
        put(f, row.ids, (size_t)s->T);
        put(f, row.segments, (size_t)s->T);
        put(f, row.labels, (size_t)s->T);
    }
    sequences_release(&row);
    return 0;
}

static int run(char **argv)
{
    struct tokenizer *t = tokenizer_load(argv[2]);
    if (!t)
        return -1;
    struct samples_config c = { .T = atoll(argv[3]),
                                .seed = strtoull(argv[4], NULL, 10),
                                .tokenizer = t };
    const char *path = argv[1];
    struct samples *s = samples_open_blend(
        samples_open_bert, &c, &(struct opt_list){ .items = &path, .count = 1 }, "the data");
    if (!s)
        return -1;
    s->ids = tokenizer_size(t);
    FILE *f = fopen(argv[6], "wb");
    int result = f ? write_samples(s, strtoull(argv[5], NULL, 10), f) : -1;
    printf("%lld %llu %g\n", (long long)s->T, (unsigned long long)s->count, samples_epoch(s));
    samples_close(s);
    tokenizer_free(t);
    return f && fclose(f) == 0 ? result : -1;
}

int main(int argc, char **argv)
{
    if (argc == 7 && run(argv) == 0)
        return 0;
    fprintf(stderr, "masked_pairs: %s\n", argc == 7 ? err_get() : "wrong usage");
    return 1;
}
