#include "model/formats/matrix.h"

#include <math.h>
#include <stdatomic.h>

/* LINES: the number of rows that a thread makes at a time, which are whole groups; and how many
 * consecutive numbers of a transpose it reads at a time. PAD: floats between these rows, which keep
 * the rows from falling into the same few sets of the cache. */
enum { LINES = 2 * STORED_GROUP, PAD = 16 };

struct making {
    const struct matrix *m;
    enum ops_type type;
    int grouped;
    char *to;
    atomic_int bad;
};

int matrix_is(const struct matrix *m, enum ops_type type, int grouped)
{
    return m->type == type && !m->turned && !m->pairs && m->grouped == grouped;
}

/* ---- what is no number ------------------------------------------------------------------- */

static int64_t groups_of(const struct matrix *m)
{
    return (m->O + STORED_GROUP - 1) / STORED_GROUP;
}

static const char *group_at(const struct matrix *m, int64_t g)
{
    return m->data + (uint64_t)g * stored_group_bytes(m->type, m->I);
}

/* Returns the position in bytes of the first number, block or scale that is infinite or NaN; -1 if
 * there is none. */
static int64_t bad_byte(const struct matrix *m)
{
    int64_t bad = -1;
    for (int64_t g = 0; g < groups_of(m) && m->grouped && bad < 0; g++)
        if ((bad = stored_group_bad(group_at(m, g), m->I)) >= 0)
            bad += group_at(m, g) - m->data;
    if (!m->grouped && (bad = stored_bad(m->type, m->data, m->O * m->I)) >= 0)
        bad = (int64_t)stored_bytes(m->type, bad);
    return bad;
}

/* Returns the least number that becomes infinite when it is rounded to the type. */
static float limit_of(enum ops_type type)
{
    return type == OPS_F16 ? 65520 : type == OPS_BF16 ? 0x1.ffp127f : INFINITY;
}

/* Returns 1 if the magnitudes of all n numbers are below the limit, and none is NaN, else 0. */
static int all_below(const float *x, int64_t n, float limit)
{
    int beyond = 0;
    for (int64_t i = 0; i < n; i++)
        beyond |= !(fabsf(x[i]) < limit);
    return !beyond;
}

/* Sets the error for a matrix that cannot be made in type `type`. Returns -1. */
static int refuse(const struct matrix *m, enum ops_type type)
{
    const int64_t bad = bad_byte(m);
    if (bad < 0)
        return err_set("%s: tensor '%s' holds numbers beyond the range of %s", m->path, m->name,
                       type == OPS_F16    ? "f16"
                       : type == OPS_BF16 ? "bf16"
                                          : "f32");
    return err_set("%s: tensor '%s' holds what is no finite number, at byte %llu", m->path, m->name,
                   (unsigned long long)(m->offset + (uint64_t)bad));
}

/* ---- making ------------------------------------------------------------------------------- */

/* Reads rows first to first + n - 1 of a transposed matrix to lines[], I + PAD floats apart. */
static void read_turned(const struct matrix *m, float *lines, int64_t first, int64_t n)
{
    const int64_t ld = m->I + PAD;
    float run[LINES];
    for (int64_t i = 0; i < m->I; i++) {
        stored_read(m->type, run, m->data + stored_bytes(m->type, i * m->O + first), n);
        for (int64_t l = 0; l < n; l++)
            lines[l * ld + i] = run[l];
    }
}

/* A thread's memory: a row as it is in the file, a row as it is made, and rows of floats. */
struct lines {
    char *row, *made;
    float *floats;
};

/* Sets `to` to row o, without grouping. `line` holds the row's floats if the file has the
 * transpose, else it is room for them. Returns 0, or -1, without an error set, if a number is
 * infinite or NaN, or would become infinite. */
static int make_row(const struct making *s, const struct lines *mine, char *to, int64_t o,
                    float *line)
{
    const struct matrix *m = s->m;
    const uint64_t bytes = stored_bytes(m->type, m->I);
    const int64_t place = m->pairs ? matrix_paired(o, m->pairs) : o;
    const char *from = m->data + (uint64_t)place * bytes;
    if (m->grouped) {
        stored_group_get(m->type, mine->row, group_at(m, o / STORED_GROUP), o % STORED_GROUP, m->I);
        from = mine->row;
    }
    if (!m->turned && m->type == s->type) {
        memcpy(to, from, bytes);
        return stored_grouped(m->type) && stored_bad(m->type, from, m->I) >= 0 ? -1 : 0;
    }
    if (!m->turned)
        stored_read(m->type, line, from, m->I);
    if (!all_below(line, m->I, limit_of(s->type)))
        return -1;
    stored_make(s->type, to, line, m->I);
    return 0;
}

/* Makes the rows [first, first + n). first is a multiple of STORED_GROUP, and so is n except at the
 * end of the matrix. */
static void make_lines(struct making *s, const struct lines *mine, int64_t first, int64_t n)
{
    const struct matrix *m = s->m;
    const uint64_t bytes = stored_bytes(s->type, m->I), group = stored_group_bytes(s->type, m->I);
    char *to = s->to + (uint64_t)first * bytes;
    if (s->grouped)
        to = s->to + (uint64_t)(first / STORED_GROUP) * group;
    if (m->turned)
        read_turned(m, mine->floats, first, n);
    if (s->grouped && n % STORED_GROUP)
        memset(to, 0, (uint64_t)((n + STORED_GROUP - 1) / STORED_GROUP) * group);
    for (int64_t l = 0; l < n; l++) {
        char *here = s->grouped ? mine->made : to + (uint64_t)l * bytes;
        float *line = mine->floats + (m->turned ? l * (m->I + PAD) : 0);
        if (make_row(s, mine, here, first + l, line) < 0)
            atomic_store(&s->bad, 1);
        else if (s->grouped)
            stored_group_put(s->type, to + (uint64_t)(l / STORED_GROUP) * group, l % STORED_GROUP,
                             mine->made, m->I);
    }
}

static void make_chunk(void *ctx, int64_t chunk, int)
{
    struct making *s = ctx;
    const struct matrix *m = s->m;
    const int64_t first = chunk * LINES, n = m->O - first < LINES ? m->O - first : LINES;
    const int64_t floats = (m->turned ? LINES : 1) * (m->I + PAD);
    SCOPED_MEM char *row = mem_alloc(stored_bytes(m->type, m->I)),
                    *made = mem_alloc(stored_bytes(s->type, m->I));
    SCOPED_MEM float *line = mem_alloc((size_t)floats * sizeof *line);
    make_lines(s, &(struct lines){ row, made, line }, first, n);
}

char *matrix_make(const struct matrix *m, enum ops_type type, int grouped, struct pool *pool)
{
    struct making s = { .m = m, .type = type, .grouped = grouped };
    s.to = grouped ? mem_huge((size_t)groups_of(m), stored_group_bytes(type, m->I))
                   : mem_huge((size_t)m->O, stored_bytes(type, m->I));
    pool_each(pool, (m->O + LINES - 1) / LINES, make_chunk, &s);
    if (!s.bad)
        return s.to;
    free(s.to);
    refuse(m, type);
    return NULL;
}

static void check_group(void *ctx, int64_t g, int)
{
    struct making *s = ctx;
    if (stored_group_bad(group_at(s->m, g), s->m->I) >= 0)
        atomic_store(&s->bad, 1);
}

int matrix_check_groups(const struct matrix *m, struct pool *pool)
{
    struct making s = { .m = m };
    pool_each(pool, groups_of(m), check_group, &s);
    return s.bad ? refuse(m, m->type) : 0;
}
