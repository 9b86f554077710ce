/* Records of BERT. Any bytes must give an error, or sequences in which all tokens and labels are
 * ids and all places are filled. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "tfrecord/read/bert_rows.h"

static void check_row(const struct bert_row *row, uint32_t S)
{
    assert(row->length >= 1 && row->length <= S && (row->next == 0 || row->next == 1));
    for (uint32_t i = 0; i < row->length; i++)
        assert(row->ids[i] <= INT32_MAX && row->segments[i] <= 1 && row->labels[i] >= -1);
    for (uint32_t i = row->length; i < S; i++)
        assert(row->labels[i] == -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bert_shape shape;
    struct bert_rows reader;
    if (bert_shape_of(&shape, data, size) < 0)
        return 0;
    uint32_t S = shape.sequence_length, K = shape.sequences;
    if ((uint64_t)S * K > 1 << 20)
        return 0;
    size_t places = (size_t)S * K;
    struct bert_row *rows = mem_zalloc(K, sizeof *rows);
    uint32_t *ids = mem_zalloc(places, 2 * sizeof *ids);
    int32_t *labels = mem_zalloc(places, sizeof *labels);
    for (size_t i = 0; i < places; i++)
        labels[i] = -1;
    for (size_t k = 0; k < K; k++)
        rows[k] = (struct bert_row){ .ids = ids + k * S,
                                     .segments = ids + places + k * S,
                                     .labels = labels + k * S };
    bert_rows_init(&reader, &shape);
    int n = bert_rows_read(&reader, data, size, rows);
    assert(n == -1 || (n >= 1 && n <= (int)K));
    for (int k = 0; k < n; k++)
        check_row(&rows[k], S);
    bert_rows_release(&reader);
    free(rows);
    free(ids);
    free(labels);
    return 0;
}
