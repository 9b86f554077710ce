/* Reads any bytes as a file of NumPy. Parsing must fail, or every number must be there. */
#include <assert.h>
#include <stdint.h>

#include "tfrecord/formats/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct npy a = { .rows = 0 };
    if (npy_parse(&a, data, size) < 0)
        return 0;
    for (uint64_t row = 0; row < a.rows; row++)
        for (uint64_t column = 0; column < a.columns; column++) {
            const unsigned char *at = a.numbers + (row * a.columns + column) * (uint64_t)a.width;
            assert(at + a.width <= data + size && (npy_at(&a, row, column) & 255) == *at);
        }
    return 0;
}
