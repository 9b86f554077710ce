/* Packs documents into rows. Input: two bytes for the number of labels of a row, and two for the
 * tokens of each document. Every token must be a label once. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/le.h"
#include "common/base/mem.h"
#include "tfrecord/layouts/fit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 1 << 18 };
    const uint32_t N = size < 2 ? 0 : le_u16(data), END = UINT32_MAX;
    struct fit f = { 0 };
    size_t n = 0, tokens = 0, labels = 0;
    if (!N)
        return 0;
    for (size_t i = 2; i + 2 <= size && n < MOST; i += 2) {
        const size_t own = le_u16(data + i);
        if (own)
            fit_add(&f, n, own, N);
        n += own + 1; /* its end-of-text */
        tokens += own;
    }
    uint32_t *ids = mem_alloc((n + 1) * sizeof *ids);
    int64_t *row = mem_alloc((N + 1) * sizeof *row);
    for (size_t i = 0; i < n; i++)
        ids[i] = (uint32_t)i;
    for (size_t i = 2, end = 0; end < n; i += 2)
        ids[(end += le_u16(data + i) + (size_t)1) - 1] = END;
    uint8_t *seen = mem_zalloc(n + 1, 1);
    const size_t rows = fit_pack(&f, N);
    for (size_t r = 0; r < rows; r++) {
        fit_row(&f, r, ids, END, row, N);
        for (uint32_t i = 1; i <= N; i++)
            if (row[i] != END) {
                assert((size_t)row[i] < n && !seen[row[i]]++);
                labels++;
            }
    }
    assert(labels == tokens && f.filled >= tokens && f.filled <= (uint64_t)rows * N);
    fit_release(&f);
    free(ids);
    free(row);
    free(seen);
    return 0;
}
