#include "model/network/embedding.h"

#include "model/network/block.h"
#include "model/network/split.h"

/* The tables, in the order of the tensor table; then the norm. */
enum { WORDS, POSITIONS, TYPES, TABLES };

/* Returns the name of a table or of the norm, NULL if the model does not have it. */
static const char *name_of(const struct model *m, int i)
{
    const struct architecture_names *names = &m->config.architecture->names;
    const char *all[] = { names->words, names->positions, names->types, names->norm };
    return i == TYPES && !m->config.types ? NULL : all[i];
}

static size_t row_of(const struct model *m, int i)
{
    size_t row = 0;
    for (int k = 0; k < i; k++)
        row += name_of(m, k) != NULL;
    return row;
}

/* Returns the row of the position table for a text's first token. In a split it is 0, because there
 * the config's positions count all rows of the table (set_part in model.c). */
static int64_t first_position(const struct model *m)
{
    return m->split ? 0 : m->config.architecture->first_position;
}

void embedding_init(struct model *m)
{
    const struct model_config *c = &m->config;
    const int64_t rows[TABLES] = { c->vocabulary, c->positions + first_position(m), c->types };
    for (int i = 0; i < TABLES; i++)
        if (name_of(m, i))
            block_add_table(m, 0, name_of(m, i), rows[i]);
    if (embedding_is_read_again(m))
        block_add_norm(m, 0, name_of(m, TABLES), 0, c->width, !c->architecture->unbiased, 0);
}

int embedding_is_read_again(const struct model *m)
{
    return name_of(m, TABLES) != NULL;
}

static struct ops_array table_of(const struct model *m, struct ops_array w, int i)
{
    return name_of(m, i) ? block_tensor(m, w, row_of(m, i)) : OPS_NONE;
}

static struct ops_embedding tables(const struct model *m, struct ops_array w)
{
    const int64_t skip = first_position(m) * m->config.width;
    return (struct ops_embedding){ .words = table_of(m, w, WORDS),
                                   .positions = ops_part(table_of(m, w, POSITIONS), skip),
                                   .types = table_of(m, w, TYPES),
                                   .C = m->config.width };
}

static struct ops_norm norm_of(const struct model *m, struct ops_array w, int64_t n)
{
    return block_norm(m, w, row_of(m, TABLES), n);
}

/* Sets sum[n,C] to the sums of the tables' rows for the n tokens of this rank. */
static void add_up(const struct model *m, struct ops *o, struct ops_array sum, struct ops_array w,
                   const struct inputs *in)
{
    const struct ops_embedding e = tables(m, w);
    split_embedding_fwd(m, o, sum, &e, in);
    if (m->config.dropout_first)
        ops_dropout(o, sum, sum, split_rows(m, in->N).count * e.C, block_embedding_dropout(m, in));
}

void embedding_fwd(const struct model *m, struct ops *o, struct ops_array x, struct ops_array w,
                   const struct inputs *in)
{
    const int64_t N = split_rows(m, in->N).count, n = N * m->config.width;
    ops_scratch_begin(o);
    const int normed = embedding_is_read_again(m);
    struct ops_array sum = normed ? ops_scratch(o, OPS_F32, n) : x;
    add_up(m, o, sum, w, in);
    if (normed) {
        const struct ops_norm norm = norm_of(m, w, N);
        split_norm_of_rows(m, o, x, not_kept, sum, &norm);
    }
    if (!m->config.dropout_first)
        ops_dropout(o, x, x, n, block_embedding_dropout(m, in));
}

/* Returns the gradient of the norm's input; dx is that of its output. The forward pass does not
 * keep the norm's input, so it is computed again. */
static struct ops_array norm_bwd(const struct model *m, struct ops *o, struct ops_gradient dw,
                                 struct ops_array dx, struct ops_array w, const struct inputs *in)
{
    const int64_t N = split_rows(m, in->N).count, n = N * m->config.width;
    const struct ops_norm norm = norm_of(m, w, N);
    struct ops_array sum = ops_scratch(o, OPS_F32, n), dsum = ops_scratch(o, OPS_F32, n);
    struct ops_moments kept = { ops_scratch(o, OPS_F32, N), ops_scratch(o, OPS_F32, N), 0 };
    add_up(m, o, sum, w, in);
    split_norm_of_rows(m, o, dsum, kept, sum, &norm); /* recomputes only `kept` */
    const struct ops_norm_bwd b = { .dx = ops_set(dsum), .dy = dx, .x = sum, .kept = kept };
    block_norm_bwd(m, o, dw, row_of(m, TABLES), b, &norm);
    return dsum;
}

void embedding_bwd(const struct model *m, struct ops *o, struct ops_gradient dw,
                   struct ops_array dx, struct ops_array w, const struct inputs *in)
{
    const struct ops_embedding d = tables(m, dw.to);
    const int64_t n = split_rows(m, in->N).count * d.C;
    ops_scratch_begin(o);
    for (int i = m->tied ? POSITIONS : WORDS; i < TABLES && !dw.add; i++)
        if (name_of(m, i))
            ops_zero(o, table_of(m, dw.to, i), tensor_elements(&m->tensors.rows[row_of(m, i)]));
    if (!m->config.dropout_first)
        ops_dropout(o, dx, dx, n, block_embedding_dropout(m, in));
    if (embedding_is_read_again(m))
        dx = norm_bwd(m, o, dw, dx, w, in);
    if (m->config.dropout_first)
        ops_dropout(o, dx, dx, n, block_embedding_dropout(m, in));
    split_embedding_bwd(m, o, &d, dx, in);
}
