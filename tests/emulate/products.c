/* products.c - matrix products of an emulated device: plain loops. */
#include "cuda/kernel.h"

#include <stdlib.h>

#include "common/mem.h"

int products_open(struct ops *o)
{
    (void)o;
    return 0;
}

void products_close(struct ops *o)
{
    (void)o;
}

/* Returns a matrix [rows,columns] as floats, in the order in which it is multiplied. */
static float *unpack(const struct ops_matrix *m, int64_t rows, int64_t columns)
{
    float *out = mem_alloc((size_t)(rows * columns) * sizeof *out);
    struct view x = view_of(m->x);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            out[r * columns + c] = get(x, m->transposed ? c * m->ld + r : r * m->ld + c);
    return out;
}

void products_multiply(struct ops *o, const struct ops_matmul *p, int add)
{
    (void)o;
    float *A = unpack(&p->A, p->M, p->K), *B = unpack(&p->B, p->K, p->N);
    float *row = mem_alloc((size_t)p->N * sizeof *row);
    struct view C = view_of(p->C.x), bias = view_of(p->bias);
    for (int64_t m = 0; m < p->M; m++) {
        memset(row, 0, (size_t)p->N * sizeof *row);
        for (int64_t k = 0; k < p->K; k++)
            for (int64_t n = 0; n < p->N; n++)
                row[n] += A[m * p->K + k] * B[k * p->N + n];
        for (int64_t n = 0; n < p->N; n++) {
            float before = add ? get(C, m * p->C.ld + n) : bias.at ? get(bias, n) : 0;
            put(C, m * p->C.ld + n, row[n] + before);
        }
    }
    free(A);
    free(B);
    free(row);
}
