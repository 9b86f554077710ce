/*
 * cpu_openblas.c - f32 matrix products by OpenBLAS instead of our own kernels
 * (TEXTMILL_PRODUCTS=openblas).
 *
 * OpenBLAS is optional: it is loaded with dlopen when a caller selects it. It runs single-threaded
 * inside the threads of our pool. C is divided into tiles by its shape alone, so the result has the
 * same bits for any number of threads.
 *
 *     for each tile of C                  multiply_tile, shared by the threads
 *         tile = base + bias              begin_tile
 *         tile += A[rows,K] B[K,columns]  cblas_sgemm
 *
 * Checked against plain loops by tests/unit/model/compute/test_ops.c, as our own products are.
 */
#include <dlfcn.h>
#include <limits.h>

#include "common/base/least.h"
#include "model/compute/cpu.h"

/* The declarations that we use from cblas.h. */
enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 };
typedef void sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                   const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

static struct {
    sgemm *multiply;
    const char *core; /* name of the kernels OpenBLAS chose, such as "SkylakeX" */
} library;

enum {
    TILE_ROWS = 768,     /* maximum rows of a tile */
    TILE_COLUMNS = 1536, /* maximum columns of a tile */
    TILE_LEAST = 96,     /* minimum rows or columns of a tile, if C has as many */
    LONG_TILES = 4,      /* target number of tiles along the longer side of C */
    SHORT_TILES = 2,     /* target number of tiles along the shorter side of C */
};

/* ---- loading the library ------------------------------------------------------------------ */

/* Loads OpenBLAS. Returns its handle, or NULL. OpenBLAS reads its kernel choice, cache sizes and
 * number of threads from environment variables when it is loaded. We remove the settings that may
 * have been made for another machine or program, and we limit OpenBLAS to one thread. */
static void *open_library(void)
{
    const struct kernels *k = kernels_choose();
    unsetenv("OPENBLAS_CORETYPE");
    if (k && k != kernels_set(0) && !strcmp(k->word, "avx2"))
        setenv("OPENBLAS_CORETYPE", "Haswell", 1); /* TEXTMILL_KERNELS also limits OpenBLAS */
    if (k && !strcmp(k->word, "amx")) /* a release older than the processor would take Prescott's */
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
    unsetenv("OPENBLAS_L2_SIZE");
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    return handle ? handle : dlopen("libopenblas.so", RTLD_NOW | RTLD_LOCAL);
}

/* Stores the address of the named symbol, or NULL, in the function pointer at `function`. ISO C has
 * no cast from an object pointer to a function pointer, so the bits are copied. */
static void find(void *function, void *handle, const char *name)
{
    void *symbol = dlsym(handle, name);
    memcpy(function, &symbol, sizeof symbol);
}

int cpu_openblas_open(void)
{
    char *(*core)(void) = NULL;
    void (*set_threads)(int) = NULL;
    if (library.multiply)
        return 0;
    void *handle = open_library();
    if (!handle)
        return err_set("cannot open OpenBLAS: %s", dlerror());
    find(&set_threads, handle, "openblas_set_num_threads");
    find(&core, handle, "openblas_get_corename");
    find(&library.multiply, handle, "cblas_sgemm");
    if (!library.multiply)
        return err_set("cannot use OpenBLAS: it has no cblas_sgemm");
    if (set_threads)
        set_threads(1);
    library.core = core ? core() : "";
    return 0;
}

const char *cpu_openblas_core(void)
{
    return library.core;
}

/* ---- one product over all threads ---------------------------------------------------------- */

struct product {
    const struct kernels *k;
    const struct ops_matmul *s;
    struct ops_matrix A, B;                  /* F32 */
    int64_t tile_rows, tile_columns, across; /* across: tiles in a row of tiles */
    float *own; /* an f32 tile for each thread if C is not F32, else NULL */
};

/* Returns the tile size for a side of C: `side` / `tiles`, rounded up, at least TILE_LEAST and at
 * most `most`. Tiles should be few, because OpenBLAS packs the operands again for each tile: 64
 * tiles are a quarter slower than 8. */
static int64_t tile_side(int64_t side, int64_t tiles, int64_t most)
{
    int64_t least = pieces(side, tiles);
    return smaller(smaller(least > TILE_LEAST ? least : TILE_LEAST, most), side);
}

static struct ops_array at(const struct ops_matrix *m, int64_t row, int64_t column)
{
    int64_t place = m->transposed ? column * m->ld + row : row * m->ld + column;
    return ops_part(m->x, place);
}

/* A tile of C whose first element is (row, column). sums[rows,columns] holds its f32 result, with
 * rows ld floats apart. */
struct tile {
    int64_t row, column, rows, columns;
    float *sums;
    int64_t ld;
};

/* Writes base + bias to the tile's sums. Returns 1, or 0 if the product has neither; then the sums
 * are left as they are. */
static int begin_tile(const struct product *p, const struct tile *t)
{
    const struct ops_matmul *s = p->s;
    struct ops_matrix base = { s->base, s->C.ld, 0 };
    struct ops_array bias = ops_part(s->bias, t->column);
    if (ops_is_none(s->base) && ops_is_none(bias))
        return 0;
    for (int64_t r = 0; r < t->rows; r++) {
        struct ops_array to = cpu_f32(t->sums + r * t->ld), from = at(&base, t->row + r, t->column);
        if (!ops_is_none(s->base) && !ops_is_none(bias))
            p->k->sum(to, from, bias, t->columns);
        else if (ops_is_none(s->base))
            p->k->copy(to, bias, t->columns);
        else if (from.address != to.address)
            p->k->copy(to, from, t->columns);
    }
    return 1;
}

static void multiply_tile(void *ctx, int64_t index, int thread)
{
    const struct product *p = ctx;
    const struct ops_matmul *s = p->s;
    struct tile t = { .row = index / p->across * p->tile_rows,
                      .column = index % p->across * p->tile_columns };
    t.rows = smaller(p->tile_rows, s->M - t.row);
    t.columns = smaller(p->tile_columns, s->N - t.column);
    struct ops_array C = at(&s->C, t.row, t.column);
    t.sums = p->own ? p->own + thread * p->tile_rows * p->tile_columns : cpu_floats(C);
    t.ld = p->own ? t.columns : s->C.ld;
    float beta = begin_tile(p, &t) ? 1 : 0;
    library.multiply(ROW_MAJOR, p->A.transposed ? TRANSPOSE : NO_TRANSPOSE,
                     p->B.transposed ? TRANSPOSE : NO_TRANSPOSE, (int)t.rows, (int)t.columns,
                     (int)s->K, 1, cpu_floats(at(&p->A, t.row, 0)), (int)p->A.ld,
                     cpu_floats(at(&p->B, 0, t.column)), (int)p->B.ld, beta, t.sums, (int)t.ld);
    for (int64_t r = 0; r < t.rows && p->own; r++)
        p->k->copy(ops_part(C, r * s->C.ld), cpu_f32(t.sums + r * t.ld), t.columns);
}

/* ---- conversion of operands to f32 --------------------------------------------------------- */

/* Returns the number of elements from the first to the last of a stored matrix, gaps between rows
 * included. `rows` and `columns` are the operand's shape after any transposition. */
static int64_t extent(const struct ops_matrix *m, int64_t rows, int64_t columns)
{
    return m->transposed ? (columns - 1) * m->ld + rows : (rows - 1) * m->ld + columns;
}

static int64_t floats_of(const struct ops_matrix *m, int64_t rows, int64_t columns)
{
    return m->x.type == OPS_F32 ? 0 : (extent(m, rows, columns) + 15) / 16 * 16;
}

/* Returns the matrix in f32: itself if it is F32, else a copy at *room, which moves to its end. */
static struct ops_matrix as_floats(struct ops *o, const struct ops_matrix *m, int64_t rows,
                                   int64_t columns, float **room)
{
    struct ops_matrix f = { cpu_f32(*room), m->ld, m->transposed };
    if (m->x.type == OPS_F32)
        return *m;
    *room += floats_of(m, rows, columns);
    cpu_copy(o, f.x, m->x, extent(m, rows, columns));
    return f;
}

void cpu_openblas_matmul(struct ops *o, const struct ops_matmul *s)
{
    struct product p = {
        .k = o->k,
        .s = s,
        .tile_rows = tile_side(s->M, s->M < s->N ? SHORT_TILES : LONG_TILES, TILE_ROWS),
        .tile_columns = tile_side(s->N, s->M < s->N ? LONG_TILES : SHORT_TILES, TILE_COLUMNS)
    };
    int64_t a = floats_of(&s->A, s->M, s->K), b = floats_of(&s->B, s->K, s->N);
    int64_t own = s->C.x.type == OPS_F32 ? 0 : p.tile_rows * p.tile_columns;
    assert(s->K <= INT_MAX && s->A.ld <= INT_MAX && s->B.ld <= INT_MAX && s->C.ld <= INT_MAX);
    float *room = cpu_at_least(o, &o->panels, a + b + o->threads * own);
    p.A = as_floats(o, &s->A, s->M, s->K, &room);
    p.B = as_floats(o, &s->B, s->K, s->N, &room);
    p.own = own ? room : NULL;
    p.across = pieces(s->N, p.tile_columns);
    if (!ops_is_none(s->sums))
        cpu_column_sums(o, ops_added(s->sums), s->B.x, s->B.ld, s->K, s->N);
    pool_each(o->pool, pieces(s->M, p.tile_rows) * p.across, multiply_tile, &p);
}
