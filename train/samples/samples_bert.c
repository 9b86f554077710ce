/* Samples for BERT: pairs of sentences with masked tokens. */

#include "tfrecord/read/bert_rows.h"
#include "train/samples/samples.h"

struct bert_samples {
    struct samples samples; /* first, so that pointers to it and to this struct are equal */
    struct dataset *data;
    struct bert_rows *rows; /* working memory for reading records */
    struct bert_row *row;   /* [most] */
};

static int check_shape(const struct bert_shape *is, int64_t T, int64_t mask_tokens)
{
    mask_tokens = mask_tokens ? mask_tokens : is->mask_tokens;
    T = T ? T : is->sequence_length;
    if (is->sequence_length == T && is->mask_tokens == mask_tokens)
        return 0;
    return err_set("has sequences of %u tokens with %u masked, but sequence-length is %lld and "
                   "mask-tokens %lld",
                   is->sequence_length, is->mask_tokens, (long long)T, (long long)mask_tokens);
}

/* Adds the sequences in a record, data[0..n), to *out. */
static int read_rows(const struct bert_samples *b, const void *data, size_t n,
                     struct sequences *out)
{
    int64_t first = out->count;
    for (int64_t k = 0; k < b->samples.most; k++) {
        int64_t at = sequences_add(out) * out->T;
        b->row[k] = (struct bert_row){ .ids = out->ids + at,
                                       .segments = out->segments + at,
                                       .labels = out->labels + at };
    }
    int count = bert_rows_read(b->rows, data, n, b->row);
    out->count = first;
    for (int k = 0; k < count; k++) {
        if (bert_row_check(&b->row[k], (uint64_t)b->samples.ids) < 0)
            return -1;
        out->lengths[out->count] = b->row[k].length;
        out->classes[out->count++] = b->row[k].next;
    }
    return count < 0 ? -1 : 0;
}

static int read_shards(const struct samples *s, uint64_t i, struct sequences *out)
{
    const struct bert_samples *b = (const struct bert_samples *)s;
    const void *data;
    size_t n;
    if (dataset_record(b->data, i, &data, &n) < 0)
        return -1;
    return read_rows(b, data, n, out) < 0 ? dataset_where(b->data, i) : 0;
}

static void close_bert(struct samples *s)
{
    struct bert_samples *b = (struct bert_samples *)s;
    dataset_close(b->data);
    bert_rows_release(b->rows);
    free(b->rows);
    free(b->row);
}

/* Sets *shape from the first record. Also checks the first record of every other file, so that data
 * of different kinds is found before training begins. */
static int open_shape(struct bert_shape *shape, const struct dataset *d,
                      const struct samples_config *c)
{
    for (uint64_t i = 0; i < dataset_count(d); i = dataset_next_file(d, i)) {
        struct bert_shape is;
        const void *data;
        size_t n;
        if (dataset_record(d, i, &data, &n) < 0)
            return -1;
        if (bert_shape_of(&is, data, n) < 0 ||
            check_shape(&is, i ? shape->sequence_length : c->T,
                        i ? shape->mask_tokens : c->mask_tokens) < 0 ||
            (i && bert_shape_check_same(&is, shape) < 0))
            return dataset_where(d, i);
        *shape = i ? *shape : is;
    }
    return 0;
}

struct samples *samples_open_bert(const struct samples_config *c, const struct opt_list *paths,
                                  const char *what)
{
    struct bert_shape shape;
    struct dataset *d = dataset_open(paths->items, paths->count, 0);
    int failed = !d;
    if (d && !dataset_count(d))
        failed = err_set("%s in '%s' has no record", what, paths->items[0]) < 0;
    if (failed || open_shape(&shape, d, c) < 0) {
        dataset_close(d);
        return NULL;
    }
    struct bert_samples *b = mem_zalloc(1, sizeof *b);
    *b = (struct bert_samples){ .data = d, .rows = mem_alloc(sizeof *b->rows) };
    bert_rows_init(b->rows, &shape);
    b->row = mem_zalloc(shape.sequences, sizeof *b->row);
    b->samples = (struct samples){ .count = dataset_count(d),
                                   .epoch = dataset_facts(d)->epoch,
                                   .most = shape.sequences,
                                   .kind = SEQUENCES_ENCODER,
                                   .T = shape.sequence_length,
                                   .mask_tokens = shape.mask_tokens,
                                   .tokens = dataset_count(d) * shape.sequence_length,
                                   .facts = *dataset_facts(d),
                                   .read = read_shards,
                                   .close = close_bert };
    return &b->samples;
}
