/* Reading BERT's training records: records that were written give the same values in every layout,
 * and damaged records are refused. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "tfrecord/formats/example.h"
#include "tfrecord/read/bert_rows.h"

enum { S = 32, M = 5, VOCABULARY = 50, CLS = 1, SEP = 2, MASK = 3 };

/* Makes the training instances of eight documents of twelve sentences, each of two to nine
 * tokens. */
static void make_instances(struct instances *out)
{
    struct sentences s = { 0 };
    uint32_t ids[9 * 12], ends[12];
    for (uint64_t d = 0; d < 8; d++) {
        uint32_t n = 0;
        for (uint64_t k = 0; k < 12; k++) {
            for (uint64_t i = 0; i < 2 + rng_at(d, k) % 8; i++)
                ids[n++] = 4 + (uint32_t)(rng_at(rng_key(d, k), i) % (VOCABULARY - 4));
            ends[k] = n;
        }
        sentences_add(&s, ids, n, ends, 12);
    }
    struct instances_recipe r = { .sequence_length = S,
                                  .mask_tokens = M,
                                  .passes = 2,
                                  .mlm = 0.15,
                                  .short_sequence = 0.6,
                                  .seed = 7,
                                  .vocabulary = VOCABULARY,
                                  .cls = CLS,
                                  .sep = SEP,
                                  .mask = MASK };
    instances_make(out, &r, &s);
    sentences_release(&s);
}

struct rows {
    uint32_t ids[PACKING_MAX][S], segments[PACKING_MAX][S];
    int32_t labels[PACKING_MAX][S];
    struct bert_row row[PACKING_MAX];
};

static void clear_rows(struct rows *rows)
{
    memset(rows, 0xff, sizeof *rows); /* labels: -1 */
    for (int k = 0; k < PACKING_MAX; k++)
        rows->row[k] = (struct bert_row){ .ids = rows->ids[k],
                                          .segments = rows->segments[k],
                                          .labels = rows->labels[k] };
}

static void check_row(const struct bert_row *row, const struct instances *all, uint32_t number)
{
    const struct instance *x = &all->list[number];
    uint32_t m = 0;
    cr_assert_eq(row->length, x->length);
    cr_assert_eq(row->next, (int)x->random);
    for (uint32_t i = 0; i < x->length; i++) {
        int masked = m < x->masked && instance_positions(all, x)[m] == i;
        cr_assert_eq(row->ids[i], instance_tokens(all, x)[i]);
        cr_assert_eq(row->segments[i], i >= x->second);
        cr_assert_eq(row->labels[i], masked ? (int32_t)instance_labels(all, x)[m++] : -1);
    }
    cr_assert_eq(m, x->masked);
}

static void check_layout(enum bert_layout layout)
{
    struct instances all = { 0 };
    struct bert_record record;
    struct buf message = BUF_INIT;
    struct bert_shape shape;
    struct bert_rows reader;
    static struct rows rows;
    make_instances(&all);
    struct packing_row *packed = mem_zalloc(all.count, sizeof *packed);
    size_t count = packing_make(&all, S, M + PACKING_MAX - 1,
                                layout == BERT_PACKED ? PACKING_MAX : 1, packed);
    size_t several = 0;
    bert_record_init(&record, layout, S, M, 0);
    for (size_t i = 0; i < count; i++) {
        bert_record_encode(&record, &all, &packed[i], &message);
        cr_assert_eq(bert_shape_of(&shape, message.data, message.len), 0, "%s", err_get());
        cr_assert_eq(shape.layout, layout);
        cr_assert(shape.sequence_length == S && shape.mask_tokens == M);
        cr_assert_eq(shape.sequences, layout == BERT_PACKED ? PACKING_MAX : 1);
        bert_rows_init(&reader, &shape);
        clear_rows(&rows);
        int n = bert_rows_read(&reader, message.data, message.len, rows.row);
        cr_assert_eq(n, (int)packed[i].count, "%d: %s", n, err_get());
        for (int k = 0; k < n; k++)
            check_row(&rows.row[k], &all, packed[i].members[k]);
        several += n > 1;
        bert_rows_release(&reader);
    }
    cr_assert(layout == BERT_PACKED ? several > 5 : !several);
    free(packed);
    bert_record_release(&record);
    buf_release(&message);
    instances_release(&all);
}

Test(bert_rows, plain_records_are_read_back)
{
    check_layout(BERT_PLAIN);
}

Test(bert_rows, tf1_records_are_read_back)
{
    check_layout(BERT_TF1);
}

Test(bert_rows, packed_records_are_read_back)
{
    check_layout(BERT_PACKED);
}

/* ---- records that are not what they should be ------------------------------------------------ */

/* The features of a record. `plain` has 3 tokens in a row of 4, one of them masked; `tf1` has the
 * same tokens in the layout BERT_TF1; `packed` has two sequences in one row. */
struct record {
    int64_t ids[4], mask[4], segments[4], places[4];
    int64_t labels[2], positions[2], next[2], masked, end;
    float weights[2], present[2];
    const char *without, *floats; /* a feature that is absent, of the wrong kind */
    size_t labels_count;
    int newer; /* 1: with the names that newer programs give */
};

static const struct record plain = { .ids = { 1, 3, 2 },
                                     .mask = { 1, 1, 1, 0 },
                                     .labels = { 7 },
                                     .positions = { 1 },
                                     .weights = { 1 },
                                     .labels_count = 2 };
static const struct record tf1 = { .ids = { 3, 0, 1, 2 },
                                   .places = { 1, 384, 0, 2 },
                                   .labels = { 7 },
                                   .masked = 1,
                                   .end = 4,
                                   .labels_count = 2 };
static const struct record packed = { .ids = { 3, 5, 1, 1 },
                                      .mask = { 1, 2, 2, 1 },
                                      .places = { 1, 1, 0, 0 },
                                      .labels = { 7, 8 },
                                      .positions = { 0, 1 },
                                      .weights = { 1, 2 },
                                      .present = { 1, 1 },
                                      .labels_count = 2 };

static void add(struct feature *list, size_t *n, const struct record *x, const char *name,
                const void *values, size_t count, enum feature_kind kind)
{
    static const float wrong[4];
    if (x->without && !strcmp(name, x->without))
        return;
    if (x->floats && !strcmp(name, x->floats))
        list[(*n)++] = (struct feature){ name, FEATURE_FLOATS, wrong, count };
    else
        list[(*n)++] = (struct feature){ name, kind, values, count };
}

static void encode(struct buf *out, const struct record *x, enum bert_layout layout)
{
    struct feature f[12];
    size_t n = 0;
    if (layout == BERT_PACKED) {
        add(f, &n, x, "packed_input_ids", x->ids, 4, FEATURE_INTS);
        add(f, &n, x, "packed_input_mask", x->mask, 4, FEATURE_INTS);
        add(f, &n, x, "packed_segment_ids", x->segments, 4, FEATURE_INTS);
        add(f, &n, x, "packed_position_ids", x->places, 4, FEATURE_INTS);
        add(f, &n, x, "packed_masked_lm_ids", x->labels, x->labels_count, FEATURE_INTS);
        add(f, &n, x, "packed_masked_lm_positions", x->positions, 2, FEATURE_INTS);
        add(f, &n, x, "packed_masked_lm_mask", x->weights, 2, FEATURE_FLOATS);
        add(f, &n, x, "packed_next_sentence_labels", x->next, 2, FEATURE_INTS);
        add(f, &n, x, "packed_next_sentence_mask", x->present, 2, FEATURE_FLOATS);
    } else {
        add(f, &n, x, x->newer ? "input_word_ids" : "input_ids", x->ids, 4, FEATURE_INTS);
        add(f, &n, x, x->newer ? "input_type_ids" : "segment_ids", x->segments, 4, FEATURE_INTS);
        add(f, &n, x, "masked_lm_ids", x->labels, x->labels_count, FEATURE_INTS);
        add(f, &n, x, "next_sentence_labels", x->next, 1, FEATURE_INTS);
    }
    if (layout == BERT_PLAIN) {
        add(f, &n, x, "input_mask", x->mask, 4, FEATURE_INTS);
        add(f, &n, x, "masked_lm_positions", x->positions, 2, FEATURE_INTS);
        add(f, &n, x, "masked_lm_weights", x->weights, 2, FEATURE_FLOATS);
    } else if (layout == BERT_TF1) {
        add(f, &n, x, "input_position", x->places, 4, FEATURE_INTS);
        add(f, &n, x, "mask_padding_index", &x->masked, 1, FEATURE_INTS);
        add(f, &n, x, "seq_padding_index", &x->end, 1, FEATURE_INTS);
    }
    buf_clear(out);
    example_encode(out, f, n);
}

/* Reads x as a record of the given layout into `rows`. Returns what bert_rows_read returns. */
static int read_as(const struct record *x, enum bert_layout layout, struct rows *rows)
{
    struct buf message = BUF_INIT;
    struct bert_rows reader;
    struct bert_shape shape = { layout, 4, layout == BERT_PACKED ? 1 : 2,
                                layout == BERT_PACKED ? 2 : 1 };
    encode(&message, x, layout);
    bert_rows_init(&reader, &shape);
    clear_rows(rows);
    int n = bert_rows_read(&reader, message.data, message.len, rows->row);
    bert_rows_release(&reader);
    buf_release(&message);
    return n;
}

static void refused(struct record x, enum bert_layout layout, const char *part)
{
    static struct rows rows;
    cr_assert_eq(read_as(&x, layout, &rows), -1, "accepted, without '%s'", part);
    cr_assert(strstr(err_get(), part), "error is '%s', without '%s'", err_get(), part);
}

#define REFUSED(base, layout, part, ...)                                                           \
    do {                                                                                           \
        struct record changed = base;                                                              \
        changed.__VA_ARGS__;                                                                       \
        refused(changed, layout, part);                                                            \
    } while (0)

Test(bert_rows, the_records_to_spoil_are_sound)
{
    static struct rows rows;
    cr_assert_eq(read_as(&plain, BERT_PLAIN, &rows), 1, "%s", err_get());
    cr_assert(rows.row[0].length == 3 && rows.labels[0][1] == 7 && rows.labels[0][0] == -1);
    cr_assert_eq(read_as(&tf1, BERT_TF1, &rows), 1, "%s", err_get());
    cr_assert(rows.ids[0][0] == 1 && rows.ids[0][1] == 3 && rows.ids[0][2] == 2);
    cr_assert(rows.row[0].length == 3 && rows.labels[0][1] == 7 && rows.labels[0][0] == -1);
    cr_assert_eq(read_as(&packed, BERT_PACKED, &rows), 2, "%s", err_get());
    cr_assert(rows.row[0].length == 2 && rows.ids[0][1] == 3 && rows.labels[0][1] == 7);
    cr_assert(rows.row[1].length == 2 && rows.ids[1][1] == 5 && rows.labels[1][1] == 8);
}

/* Asks for the shape of a record with one feature, which no layout of BERT has alone. */
static void has_no_shape(const char *feature, const char *part)
{
    static const int64_t ids[] = { 1, 2 };
    struct bert_shape shape;
    struct buf message = BUF_INIT;
    example_encode(&message, &(struct feature){ feature, FEATURE_INTS, ids, 2 }, 1);
    cr_assert_eq(bert_shape_of(&shape, message.data, message.len), -1);
    cr_expect(strstr(err_get(), part), "error is '%s', without '%s'", err_get(), part);
    buf_release(&message);
}

Test(bert_rows, records_of_no_layout)
{
    has_no_shape("input_ids", "is a record of layout gpt, but layout bert,");
    has_no_shape("ids", "has none of the features");
}

/* TensorFlow's Model Garden writes ids and segments under other names if asked to. */
Test(bert_rows, newer_names_of_features)
{
    static struct rows rows;
    struct record x = plain;
    struct bert_shape shape;
    struct buf message = BUF_INIT;
    x.newer = x.segments[2] = 1;
    encode(&message, &x, BERT_PLAIN);
    cr_assert_eq(bert_shape_of(&shape, message.data, message.len), 0, "%s", err_get());
    cr_assert(shape.layout == BERT_PLAIN && shape.sequence_length == 4 && shape.mask_tokens == 2);
    cr_assert_eq(read_as(&x, BERT_PLAIN, &rows), 1, "%s", err_get());
    cr_assert(rows.ids[0][1] == 3 && rows.segments[0][1] == 0 && rows.segments[0][2] == 1);
    buf_release(&message);
}

Test(bert_rows, plain_records_are_checked)
{
    REFUSED(plain, BERT_PLAIN, "has no feature input_ids", without = "input_ids");
    REFUSED(plain, BERT_PLAIN, "input_ids is not a list of integers", floats = "input_ids");
    REFUSED(plain, BERT_PLAIN, "masked_lm_ids has fewer than 2 values", labels_count = 1);
    REFUSED(plain, BERT_PLAIN, "input_mask has the invalid value 1 at index 3", mask[2] = 0;
            changed.mask[3] = 1);
    REFUSED(plain, BERT_PLAIN, "input_mask has the invalid value 2 at index 1", mask[1] = 2);
    REFUSED(plain, BERT_PLAIN, "has no token", mask[0] = changed.mask[1] = changed.mask[2] = 0);
    REFUSED(plain, BERT_PLAIN, "input_ids has the invalid value -1 at index 2", ids[2] = -1);
    REFUSED(plain, BERT_PLAIN, "input_ids has the invalid value 2147483648 at index 0",
            ids[0] = 1ll << 31);
    REFUSED(plain, BERT_PLAIN, "segment_ids has the invalid value 2 at index 0", segments[0] = 2);
    REFUSED(plain, BERT_PLAIN, "masked_lm_positions has the invalid value 3 at index 0",
            positions[0] = 3);
    REFUSED(plain, BERT_PLAIN, "masked_lm_positions has the invalid value -1 at index 0",
            positions[0] = -1);
    REFUSED(plain, BERT_PLAIN, "masked_lm_ids has the invalid value -7 at index 0", labels[0] = -7);
    REFUSED(plain, BERT_PLAIN, "next_sentence_labels has the invalid value 2 at index 0",
            next[0] = 2);
}

Test(bert_rows, tf1_records_are_checked)
{
    REFUSED(tf1, BERT_TF1, "mask_padding_index has the invalid value 3 at index 0", masked = 3);
    REFUSED(tf1, BERT_TF1, "mask_padding_index has the invalid value -1 at index 0", masked = -1);
    REFUSED(tf1, BERT_TF1, "seq_padding_index has the invalid value 5 at index 0", end = 5);
    REFUSED(tf1, BERT_TF1, "seq_padding_index has the invalid value 1 at index 0", end = 1);
    REFUSED(tf1, BERT_TF1, "input_position has the invalid value 4 at index 3", places[3] = 4);
    REFUSED(tf1, BERT_TF1, "input_position has the invalid value 1 at index 3",
            places[3] = 1); /* twice */
    REFUSED(tf1, BERT_TF1, "has no token", masked = 0; changed.end = 2);
}

/* In the layout BERT_TF1 a position of the text that no slot of the record fills had the token
 * [PAD], which must be put back. */
Test(bert_rows, tf1_padding_in_the_text_is_put_back)
{
    static struct rows rows;
    struct record x = tf1;
    x.places[3] = 3;
    x.ids[1] = 9;
    cr_assert_eq(read_as(&x, BERT_TF1, &rows), 1, "%s", err_get());
    cr_assert(rows.row[0].length == 4 && rows.ids[0][2] == 9 && rows.ids[0][3] == 2);
}

Test(bert_rows, packed_records_are_checked)
{
    REFUSED(packed, BERT_PACKED, "packed_input_mask has the invalid value 3 at index 1",
            mask[1] = 3);
    REFUSED(packed, BERT_PACKED, "packed_position_ids has the invalid value 0 at index 3",
            places[0] = 0);
    REFUSED(packed, BERT_PACKED, "has no token 0 of sequence 2", places[1] = 3;
            changed.places[2] = 2);
    REFUSED(packed, BERT_PACKED, "has no token of sequence 1", mask[0] = changed.mask[3] = 0);
    REFUSED(packed, BERT_PACKED, "packed_masked_lm_positions has the invalid value 4",
            positions[0] = 4);
    REFUSED(packed, BERT_PACKED, "packed_masked_lm_positions has the invalid value 1",
            positions[0] = 1);
    REFUSED(packed, BERT_PACKED, "packed_next_sentence_mask has the invalid value 0 at index 0",
            present[0] = 0);
    REFUSED(packed, BERT_PACKED, "packed_next_sentence_labels has the invalid value 5",
            next[1] = 5);
}

Test(bert_rows, shapes_of_other_records_are_refused)
{
    struct buf message = BUF_INIT;
    struct bert_shape shape;
    struct record x = plain;
    x.without = "input_mask";
    encode(&message, &x, BERT_PLAIN);
    cr_assert_eq(bert_shape_of(&shape, message.data, message.len), -1);
    cr_assert(strstr(err_get(), "has none of the features input_mask, mask_padding_index and "
                                "packed_input_mask"),
              "%s", err_get());
    x = plain;
    x.without = "masked_lm_ids";
    encode(&message, &x, BERT_PLAIN);
    cr_assert_eq(bert_shape_of(&shape, message.data, message.len), -1);
    cr_assert(strstr(err_get(), "has no feature masked_lm_ids"), "%s", err_get());
    x = packed;
    x.labels_count = 1;
    encode(&message, &x, BERT_PACKED);
    cr_assert_eq(bert_shape_of(&shape, message.data, message.len), -1);
    cr_assert(strstr(err_get(), "room for 1 predictions, but for 2 sequences"), "%s", err_get());
    buf_release(&message);
}
