#include "model/network/tensor.h"

#include <math.h>

#include "common/base/rng.h"

void tensor_block(struct tensor_table *t, int block)
{
    if (block < t->blocks)
        return;
    assert(block == t->blocks);
    t->block_size = mem_resize(t->block_size, (size_t)block + 1, sizeof *t->block_size);
    t->block_size[block] = 0;
    t->first = mem_resize(t->first, (size_t)block + 2, sizeof *t->first);
    t->first[block] = t->first[block + 1] = t->count;
    t->blocks++;
}

/* Returns 1 if the last tensor of the table is the bias of the weight before it, else 0. */
static int is_bias(const struct tensor_table *t)
{
    if (t->count < 2)
        return 0;
    const char *weight = t->rows[t->count - 2].name, *bias = t->rows[t->count - 1].name;
    size_t stem = strlen(weight) - strlen("weight");
    return strlen(weight) > strlen(".weight") && !strncmp(weight, bias, stem) &&
           !strcmp(weight + stem, "weight") && !strcmp(bias + stem, "bias");
}

void tensor_add(struct tensor_table *t, int block, const char *name, int64_t rows, int64_t columns,
                enum tensor_init init, float std)
{
    tensor_block(t, block);
    assert(block == t->blocks - 1 && strlen(name) < TENSOR_NAME && rows > 0 && columns >= 0);
    struct tensor *row = &mem_next(t->rows, t->count, t->cap);
    *row = (struct tensor){ .rank = columns ? 2 : 1,
                            .shape = { rows, columns },
                            .init = init,
                            .std = std,
                            .maps = 1,
                            .across = -1,
                            .block = block,
                            .offset = t->block_size[block] };
    t->first[block + 1]++;
    snprintf(row->name, sizeof row->name, "%s", name);
    if (is_bias(t))
        row[-1].biased = 1;
    int64_t size = (tensor_elements(row) + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN;
    t->block_size[block] += size;
}

void tensor_release(struct tensor_table *t)
{
    free(t->rows);
    free(t->block_size);
    free(t->first);
    *t = (struct tensor_table){ 0 };
}

int64_t tensor_elements(const struct tensor *row)
{
    return row->shape[0] * (row->rank == 2 ? row->shape[1] : 1);
}

int64_t tensor_parameters(const struct tensor_table *t)
{
    int64_t total = 0;
    for (size_t i = 0; i < t->count; i++)
        total += tensor_elements(&t->rows[i]);
    return total;
}

const struct tensor *tensor_find(const struct tensor_table *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (!strcmp(t->rows[i].name, name))
            return &t->rows[i];
    return NULL;
}

/* ---- initial values ----------------------------------------------------------------------- */

static uint64_t name_key(uint64_t seed, const char *name)
{
    uint64_t key = rng_key(0, seed);
    for (const char *c = name; *c; c++)
        key = rng_key(key, (unsigned char)*c);
    return key;
}

/* Returns -log(u) for u = ((bits >> 8) + 1) / 2^24, in plain arithmetic that the compiler can
 * vectorise. It writes u as 2^e * m with m from sqrt(1/2) to sqrt(2), and computes log(m) with the
 * polynomial of the Cephes function logf. */
static inline float minus_log(uint32_t bits)
{
    union {
        float f;
        uint32_t u;
    } x = { .f = ((float)(bits >> 8) + 1) * 0x1p-24f };
    uint32_t shifted = x.u - 0x3F3504F3; /* sqrt(1/2) */
    float e = (float)((int32_t)shifted >> 23);
    x.u = (shifted & 0x7FFFFF) + 0x3F3504F3;
    float m = x.f - 1, s = m * m, p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    return -(p * m * s - 0.5f * s + m + e * 0.69314718f);
}

/* quarter_sine and quarter_cosine return the sine and the cosine of x * pi/2, for x from -1/2 to
 * 1/2, by Taylor polynomials. */
static inline float quarter_sine(float x)
{
    float a = x * 1.57079633f, s = a * a;
    return a * (1 + s * (-1.66666667e-1f + s * (8.3333333e-3f + s * -1.9841270e-4f)));
}

static inline float quarter_cosine(float x)
{
    float a = x * 1.57079633f, s = a * a;
    return 1 + s * (-0.5f + s * (4.1666667e-2f + s * (-1.3888889e-3f + s * 2.4801587e-5f)));
}

/* Sets *first and *second to normally distributed numbers with mean 0 and standard deviation std,
 * made from 64 random bits by the method of Box and Muller (1958). */
static inline void normal_pair(float *first, float *second, uint64_t bits, float std)
{
    float radius = std * sqrtf(2 * minus_log((uint32_t)bits));
    int32_t turn = (int32_t)(bits >> 40); /* angle in units of 2^-24 of a full turn */
    int32_t quarter = (turn + (1 << 21)) >> 22;
    float x = (float)(turn - (quarter << 22)) * 0x1p-22f;
    float sine = quarter_sine(x), cosine = quarter_cosine(x);
    float a = quarter & 1 ? sine : cosine, b = quarter & 1 ? cosine : sine;
    *first = (quarter + 1) & 2 ? -radius * a : radius * a;
    *second = quarter & 2 ? -radius * b : radius * b;
}

/* Sets out[n] to numbers `first` to first + n - 1 of a tensor. Numbers 2i and 2i + 1 of the tensor
 * come from number i of the random sequence `key`. */
static void fill_normal(float *out, int64_t first, int64_t n, uint64_t key, float std)
{
    float unused;
    if (first % 2 && n) {
        normal_pair(&unused, out++, rng_at(key, (uint64_t)(first++ / 2)), std);
        n--;
    }
    for (int64_t i = 0; i < n / 2; i++)
        normal_pair(&out[2 * i], &out[2 * i + 1], rng_at(key, (uint64_t)(first / 2 + i)), std);
    if (n % 2)
        normal_pair(&out[n - 1], &unused, rng_at(key, (uint64_t)((first + n) / 2)), std);
}

void tensor_initialise(const struct tensor *row, uint64_t seed, int64_t first, int64_t n,
                       float *out)
{
    if (row->init == INIT_NORMAL) {
        fill_normal(out, first, n, name_key(seed, row->name), row->std);
        return;
    }
    float value = row->init == INIT_ONE ? 1 : 0;
    for (int64_t i = 0; i < n; i++)
        out[i] = value;
}
