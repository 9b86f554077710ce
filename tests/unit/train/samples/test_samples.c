/* Sequences that are divided into documents. */
#include <criterion/criterion.h>
#include <string.h>

#include "train/samples/samples.h"

enum { T = 6, END = 9 };

/* Adds a row of ids, the last of which is a label only. */
static void add(struct sequences *s, const uint32_t *ids)
{
    const int64_t row = sequences_add(s);
    for (int64_t t = 0; t < T; t++) {
        s->ids[row * T + t] = ids[t];
        s->labels[row * T + t] = (int32_t)ids[t + 1];
    }
    sequences_divide(s, row, END);
}

Test(samples, documents_begin_at_end_of_text)
{
    static const uint32_t rows[][T + 1] = {
        { 9, 1, 2, 9, 3, 9, 4 }, /* three documents; the last one has only its mark */
        { 1, 2, 3, 4, 5, 6, 9 }, /* a part of one */
        { 1, 9, 2, 9, 9, 9, 9 }, /* padding: documents without labels */
    };
    static const int64_t lengths[] = { 3, 2, 1, 6, 1, 2, 1, 1, 1 };
    static const int32_t last[] = { 9, 2, 9, MODEL_IGNORE, MODEL_IGNORE, MODEL_IGNORE };
    struct sequences s;
    sequences_init(&s, 3, T, SEQUENCES_DOCUMENTS);
    for (int again = 0; again < 2; again++) {
        sequences_clear(&s);
        for (int i = 0; i < 3; i++)
            add(&s, rows[i]);
        const struct batch b = sequences_batch(&s);
        cr_assert_eq(b.B, 9);
        cr_assert(b.joined && b.T == T && sequences_tokens(&s) == 3 * T &&
                  batch_places(&b) == 3 * T);
        cr_assert_eq(0, memcmp(b.lengths, lengths, sizeof lengths));
        cr_assert_eq(0, memcmp(b.labels + 2 * T, last, sizeof last));
        cr_assert_eq(b.labels[5], 4); /* the first token of a document is a label, too */
    }
    sequences_release(&s);
}
