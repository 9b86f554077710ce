/* Rows of whole documents, beside a loop over all rows that looks for the best fit. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "tfrecord/layouts/fit.h"
#include "tfrecord/layouts/packing.h"

enum { END = 7, FIRST = 100, DOCUMENTS = 300 };

/* Returns the number of rows that best fit decreasing needs. */
static size_t pack_slowly(const uint32_t *lengths, size_t n, uint32_t length)
{
    uint32_t *room = calloc(n, sizeof *room);
    size_t rows = 0;
    for (uint32_t want = length; want; want--)
        for (size_t i = 0; i < n; i++) {
            if (lengths[i] != want)
                continue;
            size_t best = rows;
            for (size_t r = 0; r < rows; r++)
                if (room[r] >= want && (best == rows || room[r] < room[best]))
                    best = r;
            if (best == rows)
                room[rows++] = length;
            room[best] -= want;
        }
    free(room);
    return rows;
}

Test(fit, packs_as_a_search_through_all_rows)
{
    enum { N = 400 };
    const uint32_t most[] = { 1, 5, 63, 64, 65, 1000, 5000 };
    uint32_t lengths[N], order[N];
    size_t ends[N];
    for (size_t k = 0; k < sizeof most / sizeof *most; k++) {
        unsigned char seen[N] = { 0 };
        for (uint64_t i = 0; i < N; i++)
            lengths[i] = 1 + (uint32_t)(rng_at(k, i) % most[k] * (rng_at(k + 9, i) % 4) / 3);
        const size_t rows = packing_fit(lengths, N, most[k], order, ends);
        cr_assert_eq(rows, pack_slowly(lengths, N, most[k]), "%u", most[k]);
        cr_assert_eq(ends[rows - 1], N);
        for (size_t r = 0, i = 0; r < rows; r++) {
            uint32_t used = 0;
            for (; i < ends[r]; i++) {
                cr_assert(!seen[order[i]]++);
                used += lengths[order[i]];
            }
            cr_assert(used && used <= most[k]);
        }
    }
}

/* Token t of document d is FIRST + 1000 d + t; an end-of-text is behind each document. */
static size_t put_documents(struct fit *f, uint32_t *ids, uint32_t N)
{
    size_t n = 0;
    for (uint64_t d = 0; d < DOCUMENTS; d++) {
        const size_t tokens = 1 + rng_at(3, d) % (d % 10 ? N / 2 + 1 : 4 * N);
        fit_add(f, n, tokens, N);
        for (size_t t = 0; t < tokens; t++)
            ids[n++] = (uint32_t)(FIRST + 1000 * d + t);
        ids[n++] = END;
    }
    return n;
}

/* Each token is a label once, behind the token before it or, where a row or a document begins,
 * behind an end-of-text. */
Test(fit, each_token_is_a_label_once)
{
    const uint32_t lengths[] = { 1, 2, 30, 64 };
    for (size_t k = 0; k < 4; k++) {
        const uint32_t N = lengths[k];
        struct fit f = { 0 };
        uint32_t *ids = calloc((size_t)DOCUMENTS * (4 * N + 1), sizeof *ids);
        int64_t row[65];
        size_t tokens = put_documents(&f, ids, N), labels = 0, ends = 0;
        unsigned char *seen = calloc(FIRST + 1000 * DOCUMENTS, 1);
        const size_t rows = fit_pack(&f, N);
        for (size_t r = 0; r < rows; r++) {
            fit_row(&f, r, ids, END, row, N);
            cr_assert_eq(row[0], END);
            for (uint32_t t = 0; t < N; t++) {
                ends += row[t] != END && row[t + 1] == END;
                if (row[t + 1] == END)
                    continue;
                cr_assert(row[t] == END || row[t] + 1 == row[t + 1]);
                cr_assert_not(seen[row[t + 1]]++);
                labels++;
            }
        }
        cr_assert_eq(labels, tokens - DOCUMENTS);
        cr_assert_eq(labels + ends, f.filled);
        uint64_t cut = 0;
        for (size_t i = 0, n; i < tokens; i += n) {
            for (n = 1; i + n < tokens && ids[i + n] == ids[i] + n; n++)
                continue;
            cut += ids[i] != END && n >= N;
        }
        cr_assert_eq(cut, f.cut);
        free(seen);
        free(ids);
        fit_release(&f);
    }
}
