#include "tfrecord/formats/blend.h"

#include <math.h>

#include "tfrecord/formats/npy.h"

enum { BLOCK = 1 << 16 }; /* samples */

/* ---- weights ------------------------------------------------------------------------------ */

/* Returns the sum of x[n], added in NumPy's order: up to 128 numbers in eight partial sums, more in
 * two halves. */
static double sum(const double *x, size_t n)
{
    double part[8], all = 0;
    size_t i = 0;
    if (n > 128) {
        size_t half = n / 2 - n / 2 % 8;
        return sum(x, half) + sum(x + half, n - half);
    }
    if (n >= 8) {
        memcpy(part, x, sizeof part);
        for (i = 8; i < n - n % 8; i++)
            part[i % 8] += x[i];
        all = ((part[0] + part[1]) + (part[2] + part[3])) +
              ((part[4] + part[5]) + (part[6] + part[7]));
    }
    for (; i < n; i++)
        all += x[i];
    return all;
}

/* ---- sources ------------------------------------------------------------------------------ */

/* Sets *weight to the number after the last ':' of text[0..n). Returns the length of the path
 * before that ':', or 0 if there is no weight. In "nanogpt:FILE" the ':' is part of the path. */
static size_t find_weight(const char *text, size_t n, double *weight)
{
    static const char nanogpt[] = "nanogpt";
    size_t path = n;
    while (path && text[path - 1] != ':')
        path--;
    if (path < 2 || path == n || !strchr("0123456789.-", text[path]) ||
        (path == sizeof nanogpt && !memcmp(text, nanogpt, path - 1)))
        return 0;
    char *end;
    *weight = strtod(text + path, &end);
    return end == text + n ? path - 1 : 0;
}

static void add_source(struct blend *b, const char *path, size_t n, double weight)
{
    b->paths = mem_resize(b->paths, b->count + 1, sizeof *b->paths);
    b->weights = mem_resize(b->weights, b->count + 1, sizeof *b->weights);
    b->paths[b->count] = mem_strndup(path, n);
    b->weights[b->count++] = weight;
}

/* Adds the sources of an item, PATH:WEIGHT,PATH:WEIGHT. If *without is NULL, sets it to the first
 * part that has no weight, if there is one. Returns 0, or -1 with an error. */
static int add_item(struct blend *b, const char *item, const char **without)
{
    for (const char *part = item; part; part = strchr(part, ',')) {
        double weight;
        part += part > item;
        size_t n = strcspn(part, ","), path = find_weight(part, n, &weight);
        if (!path && !*without)
            *without = part;
        if (!path)
            continue;
        if (!(weight > 0) || isinf(weight))
            return err_set("'%.*s': the weight of a source must be above 0", (int)n, part);
        add_source(b, part, path, weight);
    }
    return 0;
}

int blend_parse(struct blend *b, const char *const *items, size_t count)
{
    const char *without = NULL;
    *b = (struct blend){ .block = UINT64_MAX };
    for (size_t i = 0; i < count; i++)
        if (add_item(b, items[i], &without) < 0)
            return -1;
    if (!b->count)
        return 0;
    if (without)
        return err_set("'%.*s' has no weight: write PATH:WEIGHT for each source of a blend",
                       (int)strcspn(without, ","), without);
    if (b->count > BLEND_SOURCES)
        return err_set("a blend has at most %d sources, but %zu are given", BLEND_SOURCES,
                       b->count);
    for (int pass = 0; pass < 2; pass++) { /* as Megatron Core: the second can change a last bit */
        const double all = sum(b->weights, b->count);
        for (size_t i = 0; i < b->count; i++)
            b->weights[i] /= all;
    }
    for (size_t i = 0; i < b->count; i++)
        if (!(b->weights[i] > 0)) /* also if the sum is infinite */
            return err_set("'%s': its weight is too small beside the sum of the weights",
                           b->paths[i]);
    return 1;
}

void blend_release(struct blend *b)
{
    for (size_t i = 0; i < b->count; i++)
        free(b->paths[i]);
    free(b->paths);
    free(b->weights);
    free(b->starts);
    free(b->source);
    free(b->sample);
    *b = (struct blend){ 0 };
}

/* ---- samples ------------------------------------------------------------------------------ */

/* Returns the source of sample k. taken[i] of the samples before k came from source i. */
static size_t choose(const struct blend *b, const uint64_t *taken, uint64_t k)
{
    const double all = k ? (double)k : 1;
    double most = b->weights[0] * all - (double)taken[0];
    size_t chosen = 0;
    for (size_t i = 1; i < b->count; i++) {
        double lacks = b->weights[i] * all - (double)taken[i];
        if (lacks > most) {
            most = lacks;
            chosen = i;
        }
    }
    return chosen;
}

/* Fills b->source and b->sample for the samples of a block, and sets the entries of b->starts for
 * the next block. The entries for the block itself must have been set. */
static void fill(struct blend *b, uint64_t block)
{
    mem_grow(b->starts, b->cap, (block + 2) * b->count);
    uint64_t *taken = b->starts + (block + 1) * b->count;
    memcpy(taken, b->starts + block * b->count, b->count * sizeof *taken);
    for (uint64_t i = 0; i < BLOCK; i++) {
        size_t source = choose(b, taken, block * BLOCK + i);
        b->source[i] = (uint16_t)source;
        b->sample[i] = taken[source]++;
    }
    b->block = block;
    if (b->blocks < block + 2)
        b->blocks = block + 2;
}

void blend_find(struct blend *b, uint64_t k, size_t *source, uint64_t *sample)
{
    uint64_t block = k / BLOCK;
    assert(b->count);
    if (!b->blocks) {
        b->source = mem_zalloc(BLOCK, sizeof *b->source);
        b->sample = mem_zalloc(BLOCK, sizeof *b->sample);
        mem_grow(b->starts, b->cap, b->count);
        memset(b->starts, 0, b->count * sizeof *b->starts);
        b->blocks = 1;
    }
    while (b->blocks <= block)
        fill(b, b->blocks - 1);
    if (b->block != block)
        fill(b, block);
    *source = b->source[k % BLOCK];
    *sample = b->sample[k % BLOCK];
}

void blend_count(struct blend *b, uint64_t samples, uint64_t *counts)
{
    memset(counts, 0, b->count * sizeof *counts);
    for (uint64_t k = 0; k < samples; k++) {
        size_t source;
        uint64_t sample;
        blend_find(b, k, &source, &sample);
        counts[source]++;
    }
}

/* ---- files -------------------------------------------------------------------------------- */

int blend_write(struct blend *b, uint64_t samples, const char *name)
{
    struct output files[2] = { { 0 }, { 0 } };
    int failed = npy_open(&files[0], name, "dataset_index", NPY_I16, samples, 1) < 0 ||
                 npy_open(&files[1], name, "dataset_sample_index", NPY_I64, samples, 1) < 0;
    for (uint64_t k = 0; k < samples && !failed; k++) {
        size_t source;
        uint64_t sample;
        blend_find(b, k, &source, &sample);
        failed = npy_put(&files[0], source, NPY_I16) < 0 || npy_put(&files[1], sample, NPY_I64) < 0;
    }
    return output_end_all(files, 2, failed ? -1 : 0);
}
